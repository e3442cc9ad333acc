#!/bin/bash
# Leaves nfpm, built from its Go module at the version that go/nfpm pins, in CACHE/nfpm: release/packages.py makes the .deb and the .rpm
# with it. Run again it does nothing.
set -euo pipefail
cd "$(dirname "$0")/go/nfpm"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
mkdir -p "$cache/nfpm"
exec 9>"$cache/nfpm.lock"
flock 9
key=$(cat go.mod go.sum "../../$(basename "$0")" | sha256sum | cut -c1-16)
if [ "$(cat "$cache/nfpm/key" 2>/dev/null)" != "$key" ]; then
  module=github.com/goreleaser/nfpm/v2
  version=$(awk -v module="$module" '$1 == module { print $2; exit }' go.mod)
  CGO_ENABLED=0 nice go build -trimpath -ldflags "-s -w -X main.version=${version#v}" -o "$cache/nfpm/nfpm" "$module/cmd/nfpm"
  echo "$key" >"$cache/nfpm/key"
fi
"$cache/nfpm/nfpm" --version
