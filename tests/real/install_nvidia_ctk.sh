#!/bin/bash
# Leaves the NVIDIA Container Toolkit's own nvidia-ctk and nvidia-container-runtime, built from its Go module at the version that
# go/nvidia-ctk pins, in CACHE/nvidia-ctk for tests/real/test_cdi_spec.py and test_toolkit_config.py. Run again it does nothing.
set -euo pipefail
cd "$(dirname "$0")/go/nvidia-ctk"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
mkdir -p "$cache/nvidia-ctk"
exec 9>"$cache/nvidia-ctk.lock"
flock 9
key=$(cat go.mod go.sum | sha256sum | cut -c1-16)
if [ ! -x "$cache/nvidia-ctk/nvidia-container-runtime" ] || [ ! -x "$cache/nvidia-ctk/nvidia-ctk" ] || [ "$(cat "$cache/nvidia-ctk/key" 2>/dev/null)" != "$key" ]; then
  module=github.com/NVIDIA/nvidia-container-toolkit
  version=$(awk -v module="$module" '{ for (i = 1; i < NF; i++) if ($i == module) { print $(i + 1); exit } }' go.mod)
  # cgo: it loads libnvidia-ml with dlopen
  for name in nvidia-ctk nvidia-container-runtime; do
    CGO_ENABLED=1 go build -trimpath -ldflags "-s -w -X $module/internal/info.version=${version#v}" -o "$cache/nvidia-ctk/$name" "$module/cmd/$name"
  done
  echo "$key" >"$cache/nvidia-ctk/key"
fi
"$cache/nvidia-ctk/nvidia-ctk" --version
