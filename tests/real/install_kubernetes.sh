#!/bin/bash
# Leaves a control plane, which go/kubernetes and go/etcd pin, as CACHE/kubernetes-1.35/{etcd,kube-apiserver,kube-scheduler,kube-controller-manager,kubectl}.
# 'install_kubernetes.sh 1.36' leaves the API server alone of go/kubernetes-1.36, as CACHE/kubernetes-1.36/kube-apiserver: the first that serves
# MutatingAdmissionPolicy as v1. For 'make test-full': it takes 5 minutes of two processors.
# What KUBEBUILDER_ASSETS or TEST_ASSET_ETCD and TEST_ASSET_KUBE_APISERVER name is there already and is not built. Run again it does nothing.
set -euo pipefail
cd "$(dirname "$0")/go"
export PATH="${PWD%/go}/bin:$PATH" # go
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
other=${1:-}
module=kubernetes${other:+-$other}
target=$cache/kubernetes-${other:-1.35}
mkdir -p "$target"
exec 9>"$cache/kubernetes.lock"
flock 9

# built NAME MODULE PACKAGE LDFLAGS: built again when the module's go.sum changes.
built() {
  local name=$1 module=$2 package=$3 flags=$4 key variable
  variable=TEST_ASSET_$(tr 'a-z-' 'A-Z_' <<<"$name")
  if [ -z "$other" ] && { [ -x "${!variable:-}" ] || [ -x "${KUBEBUILDER_ASSETS:-}/$name" ]; }; then return; fi
  key=$(cat "$module/go.mod" "$module/go.sum" | sha256sum | cut -c1-16)
  [ -x "$target/$name" ] && [ "$(cat "$target/$name.key" 2>/dev/null)" = "$key" ] && return
  echo "building $name" >&2
  (cd "$module" && CGO_ENABLED=0 nice go build -trimpath -ldflags "-s -w $flags" -o "$target/$name.new" "$package")
  mv "$target/$name.new" "$target/$name"
  echo "$key" >"$target/$name.key"
}

version=$(awk '$1 == "require" && $2 == "k8s.io/kubernetes" { print $3; exit } $1 == "k8s.io/kubernetes" { print $2; exit }' "$module/go.mod")
minor=${version#v1.}
stamp=k8s.io/component-base/version
flags="-X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*} -X $stamp.gitTreeState=clean"
names=(kube-apiserver) # it costs the most: the others share its packages
if [ -z "$other" ]; then
  built etcd etcd go.etcd.io/etcd/server/v3 ""
  names+=(kube-scheduler kube-controller-manager kubectl)
fi
for name in "${names[@]}"; do
  built "$name" "$module" "k8s.io/kubernetes/cmd/$name" "$flags"
done
