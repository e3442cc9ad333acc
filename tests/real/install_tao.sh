#!/bin/bash
# Leaves NVIDIA's TAO SDK with its Slurm back end, and asyncssh, in a virtual environment CACHE/tao for tests/real/test_slurm_tao.py: what
# requirements-tao.txt pins, with hashes. Run again it does nothing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
python=$here/../../.venv/bin/python
[ -x "$python" ] || python=python3
mkdir -p "$cache"
exec 9>"$cache/tao.lock"
flock 9
key=$({ cat "$here/requirements-tao.txt" && "$python" -VV; } | sha256sum | cut -c1-16)
if [ "$(cat "$cache/tao/key" 2>/dev/null)" != "$key" ]; then
  rm -rf "$cache/tao"
  "$python" -m venv "$cache/tao"
  "$cache/tao/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$here/requirements-tao.txt"
  echo "$key" >"$cache/tao/key"
fi
command -v ssh scp >/dev/null || { echo "wants ssh and scp: apt-get install openssh-client" >&2; exit 1; }
