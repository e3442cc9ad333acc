#!/bin/bash
# Leaves helm and kwok, which go/helm and go/kwok pin, as CACHE/cluster-tools/{helm,kwok}, and the kinds of the Prometheus operator, which
# go/prometheus-operator pins, in CACHE/cluster-tools/prometheus-operator. Run again it does nothing. With a name: that one alone.
set -euo pipefail
cd "$(dirname "$0")/go"
export PATH="${PWD%/go}/bin:$PATH" # go
only=${1:-}
target=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests/cluster-tools
mkdir -p "$target"
exec 9>"$target.lock"
flock 9

# version_of MODULE NAME: of a Go module that go/NAME/go.mod pins.
version_of() { awk -v module="$1" '$1 == module { print $2; exit } $2 == module { print $3; exit }' "$2/go.mod"; }

# made NAME COMMAND...: runs COMMAND when what go/NAME pins has changed.
made() {
  local name=$1 key
  [ -z "$only" ] || [ "$only" = "$name" ] || return 0
  shift
  key=$(cat "$name/go.mod" "$name/go.sum" | sha256sum | cut -c1-16)
  [ "$(cat "$target/$name.key" 2>/dev/null)" = "$key" ] && return
  (cd "$name" && "$@")
  echo "$key" >"$target/$name.key"
}

# built NAME PACKAGE FLAGS
built() {
  echo "building $1" >&2
  CGO_ENABLED=0 nice go build -trimpath -ldflags "-s -w $3" -o "$target/$1.new" "$2"
  mv "$target/$1.new" "$target/$1"
}

kinds() {
  local module=github.com/prometheus-operator/prometheus-operator name
  go mod download "$module"
  mkdir -p "$target/prometheus-operator"
  for name in podmonitors prometheusrules; do
    cp "$(go list -m -f '{{.Dir}}' "$module")/example/prometheus-operator-crd/monitoring.coreos.com_$name.yaml" "$target/prometheus-operator/"
  done
}

made helm built helm helm.sh/helm/v3/cmd/helm "-X helm.sh/helm/v3/internal/version.version=$(version_of helm.sh/helm/v3 helm)"
made kwok built kwok sigs.k8s.io/kwok/cmd/kwok "-X sigs.k8s.io/kwok/pkg/consts.Version=$(version_of sigs.k8s.io/kwok kwok)"
made prometheus-operator kinds
[ -n "$only" ] || "$target/helm" version --short
[ -n "$only" ] || "$target/kwok" --version
