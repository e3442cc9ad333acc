#!/bin/bash
# Leaves the NVIDIA Container Toolkit's own nvidia-ctk, nvidia-container-runtime and nvidia-cdi-hook, built from its Go module at the
# version that go/nvidia-ctk pins, in CACHE/nvidia-ctk for tests/real. nvidia-ctk-VERSION is the same program under another version's
# name, for the packages of tests/real/stubrepo.py. Run again it does nothing.
set -euo pipefail
cd "$(dirname "$0")/go/nvidia-ctk"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
mkdir -p "$cache/nvidia-ctk"
exec 9>"$cache/nvidia-ctk.lock"
flock 9
key=$(cat go.mod go.sum "../../$(basename "$0")" | sha256sum | cut -c1-16)
if [ "$(cat "$cache/nvidia-ctk/key" 2>/dev/null)" != "$key" ]; then
  module=github.com/NVIDIA/nvidia-container-toolkit
  version=$(awk -v module="$module" '{ for (i = 1; i < NF; i++) if ($i == module) { print $(i + 1); exit } }' go.mod)
  build() { # PROGRAM VERSION FILE; cgo: it loads libnvidia-ml with dlopen
    CGO_ENABLED=1 go build -trimpath -ldflags "-s -w -X $module/internal/info.version=$2" -o "$cache/nvidia-ctk/$3" "$module/cmd/$1"
  }
  for name in nvidia-ctk nvidia-container-runtime nvidia-cdi-hook; do build $name "${version#v}" $name; done
  for other in 1.18.2 1.19.1 1.20.0; do build nvidia-ctk $other nvidia-ctk-$other; done
  echo "$key" >"$cache/nvidia-ctk/key"
fi
"$cache/nvidia-ctk/nvidia-ctk" --version
