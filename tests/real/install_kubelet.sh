#!/bin/bash
# Leaves the kubelet that go/kubelet pins, and two programs of ours on its packages (judge: admission in one process; runtime: a stub
# container runtime with stub device plugins), as CACHE/kubelet-1.35/{kubelet,judge,runtime}. Run again it does nothing.
set -euo pipefail
cd "$(dirname "$0")/go/kubelet"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
target=$cache/kubelet-1.35
mkdir -p "$target"
exec 9>"$cache/kubelet.lock"
flock 9

# built NAME PACKAGE LDFLAGS FILE...: built again when go.sum or one of the files changes.
built() {
  local name=$1 package=$2 flags=$3 key
  shift 3
  key=$(cat go.sum "$@" | sha256sum | cut -c1-16)
  [ -x "$target/$name" ] && [ "$(cat "$target/$name.key" 2>/dev/null)" = "$key" ] && return
  CGO_ENABLED=0 nice go build -trimpath -ldflags "-s -w $flags" -o "$target/$name.new" "$package"
  mv "$target/$name.new" "$target/$name"
  echo "$key" >"$target/$name.key"
}

version=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit }  $2 == "k8s.io/kubernetes" { print $3; exit }' go.mod)
minor=${version#v1.}
stamp=k8s.io/component-base/version
built kubelet k8s.io/kubernetes/cmd/kubelet \
  "-X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*} -X $stamp.gitTreeState=clean" go.mod
built judge ./judge "" judge/* stub/*
built runtime ./runtime "" runtime/* stub/*
"$target/kubelet" --version
