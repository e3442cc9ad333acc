#!/bin/bash
# Leaves the API server that go/kubernetes-1.36 pins as CACHE/kubernetes-1.36/kube-apiserver: the first that serves MutatingAdmissionPolicy
# as v1. For 'make test-full' alone: it takes 5 minutes of two processors. Run again it does nothing.
set -euo pipefail
cd "$(dirname "$0")/go/kubernetes-1.36"
export PATH="${PWD%/go/*}/bin:$PATH" # go
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
target=$cache/kubernetes-1.36
mkdir -p "$target"
exec 9>"$target.lock"
flock 9

key=$(cat go.mod go.sum | sha256sum | cut -c1-16)
if [ ! -x "$target/kube-apiserver" ] || [ "$(cat "$target/kube-apiserver.key" 2>/dev/null)" != "$key" ]; then
  echo "building kube-apiserver 1.36" >&2
  version=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit } $2 == "k8s.io/kubernetes" { print $3; exit }' go.mod)
  minor=${version#v1.}
  stamp=k8s.io/component-base/version
  flags="-X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*} -X $stamp.gitTreeState=clean"
  CGO_ENABLED=0 nice go build -trimpath -ldflags "-s -w $flags" -o "$target/kube-apiserver.new" k8s.io/kubernetes/cmd/kube-apiserver
  mv "$target/kube-apiserver.new" "$target/kube-apiserver"
  echo "$key" >"$target/kube-apiserver.key"
fi
"$target/kube-apiserver" --version
