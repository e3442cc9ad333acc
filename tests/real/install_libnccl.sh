#!/bin/bash
# Leaves the real NCCL of several versions as CACHE/libnccl/VERSION.so for tests/real/test_libnccl.py: from the wheels that pip finds where it
# is configured to look, each verified by its hash, one at a time; of a wheel the library is kept. Run again it does nothing.
set -euo pipefail
[ "$(uname -m)" = x86_64 ] || { echo "has the hashes of x86_64 alone" >&2; exit 1; }
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
python=$(cd "$(dirname "$0")/../.." && pwd)/.venv/bin/python
[ -x "$python" ] || python=python3
mkdir -p "$cache/libnccl"
exec 9>"$cache/libnccl.lock"
flock 9
work=$cache/libnccl/unpacked
trap 'rm -rf "$work"' EXIT

# kept VERSION WHEEL_SHA256 LIBRARY_SHA256
kept() {
  local version=$1 wheel=$2 library=$3 target=$cache/libnccl/$1.so
  [ -f "$target" ] && [ "$(cat "$target.sha256" 2>/dev/null)" = "$library" ] && return
  rm -rf "$work"
  mkdir "$work"
  echo "nvidia-nccl-cu12==$version --hash=sha256:$wheel" >"$work/wanted"
  "$python" -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: --require-hashes \
    --dest "$work" -r "$work/wanted"
  "$python" - "$work"/*.whl "$work/library" <<'PYTHON'
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]).open("nvidia/nccl/lib/libnccl.so.2") as inside, open(sys.argv[2], "wb") as outside:
    shutil.copyfileobj(inside, outside, 1 << 20)
PYTHON
  echo "$library  $work/library" | sha256sum --check --quiet -
  # code for GPUs and debugging, nine tenths of it, become holes in the file: nothing reads them here
  readelf --wide --sections "$work/library" | sed 's/^ *\[ *[0-9]*\] *//' | awk '$1 ~ /nv_.*fatbin$|^\.debug_/ { print $4, $5 }' |
    while read -r offset size; do fallocate --punch-hole --offset "0x$offset" --length "0x$size" "$work/library" || break; done
  mv "$work/library" "$target"
  echo "$library" >"$target.sha256"
  rm -rf "$work"
}

kept 2.18.3 89cf220910c43e53df992f54f7aa2a35c6d606b077c9ae95b1f17c544d3ad3f3 40f71adb510e5242c6af1315b9ebac47aaeb00eb36418b91b3e7f7a0cd812333
kept 2.21.5 8579076d30a8c24988834445f8d633c697d42397e92ffc3f63fa26766d25e0a0 78df2f31f6db8142ec546a1e5a31cb066f7892d12d2f665b448f8069a08ef807
kept 2.23.4 b097258d9aab2fa9f686e33c6fe40ae57b27df60cedbd15d139701bb5509e0c1 68baad42a19091c4ef92d26a16737c1f3371440eb9526edc4c899c9093131ab0
kept 2.27.3 adf27ccf4238253e0b826bce3ff5fa532d65fc42322c8bfdfaf28024c0fbe039 1fc36eebc84f4b10923eee21538ed8fa25725647d06f4840bc0fe399a6ed9bc4
kept 2.28.9 485776daa8447da5da39681af455aa3b2c2586ddcf4af8772495e7c532c7e5ab 1792291e26d2b27fe51e59cf4dbd361dbfa84cbfe8ee8196c087c7ebf5146d48
kept 2.30.7 8ce1b8213f61f2bfac132e6df890af6450b77cbd140c6ce4e98cb0c2d8e678c9 2d19623c75a1dc0f4296fa9b9ff5cb7f38f18e42b10076636eb4e144e9010d07
kept 2.32.3 bb94b2348e4861d5e8aa00b36c3d12d9bdf9c6369b82cbb723de0b582280a21c a23d2e3e47ad7f8987ac73eb04a373d6d40cfbb3a7a5bf41a9e0e8434817559b
cd "$cache/libnccl"
echo "libnccl $(ls ./*.so | sed 's|./||; s|\.so$||' | sort -V | paste -sd ' ')"
