#!/bin/bash
# Leaves containerd 1.6 and 1.7 and dockerd 26 (Debian's packages, unpacked, not installed) and containerd 2.x (built from its
# Go module) as CACHE/containerd-{1.6,1.7,2.1,2.3}/containerd, and CACHE/docker-26/dockerd with its client docker; the runc that
# dockerd starts with as CACHE/runc-1.1/runc; and a client of the CRI, ours, as CACHE/cri/cri. Run again it does nothing.
set -euo pipefail
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
mkdir -p "$cache"
exec 9>"$cache/containerd.lock"
flock 9

# from_debian NAME SUITE PACKAGE PROGRAM...: the package of that suite, through apt directories of our own and the machine's own mirror.
from_debian() {
  local target="$cache/$1" mirror work program
  [ -x "$target/$(basename "${*: -1}")" ] && return
  mirror=$(grep -rhoE '[a-z+]+://[^] ]+/debian/?([[:space:]]|$)' /etc/apt/sources.list.d /etc/apt/sources.list 2>/dev/null |
    head -n1 | tr -d '[:space:]') || true
  [ -n "$mirror" ] || { echo "found no Debian mirror in apt's sources, wanted one to fetch $3 from" >&2; return 1; }
  work=$(mktemp -d)
  mkdir -p "$work"/{etc/apt.conf.d,etc/preferences.d,state/lists/partial,cache/archives/partial,root}
  chmod 755 "$work"
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$mirror" "$2" >"$work/etc/sources.list"
  cat >"$work/apt.conf" <<CONF
Dir::Etc "$work/etc";
Dir::Etc::sourceparts "-";
Dir::State "$work/state";
Dir::State::status "$work/state/status";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
CONF
  : >"$work/state/status"
  (
    cd "$work"
    export APT_CONFIG="$work/apt.conf"
    apt-get -qq update
    apt-get -qq download "$3"
    dpkg -x "$3"_*.deb root
  )
  for program in "${@:4}"; do
    install -D -m 755 "$work/root/$program" "$target/$(basename "$program")"
  done
  rm -rf "$work"
}

# from_go VERSION MODULE: built at the versions that MODULE's go.sum pins; built again when go.sum changes.
from_go() {
  local target="$cache/containerd-$1" key
  key=$(sha256sum "$2/go.sum" | cut -c1-16)
  [ -x "$target/containerd" ] && [ "$(cat "$target/key" 2>/dev/null)" = "$key" ] && return
  mkdir -p "$target"
  (cd "$2" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X $3.Version=$4" -o "$target/containerd" "$5")
  echo "$key" >"$target/key"
}

module=github.com/containerd/containerd/v2
# pinned DIRECTORY: the version of containerd in its go.mod.
pinned() {
  awk -v module="$module" '$1 == module || $2 == module { for (i = 1; i < NF; i++) if ($i == module) { print $(i + 1); exit } }' "$1/go.mod"
}
from_debian containerd-1.6 bookworm containerd usr/bin/containerd usr/bin/containerd-shim-runc-v2 # which serves 1.7 and 2.1, too
from_debian containerd-1.7 trixie containerd usr/bin/containerd
from_debian docker-26 trixie docker.io usr/sbin/dockerd
from_debian docker-26 trixie docker-cli usr/bin/docker
from_debian runc-1.1 bookworm runc usr/sbin/runc
for line in 2.1:go/containerd 2.3:go/containerd-2.3; do
  version=$(pinned "${line#*:}")
  from_go "${line%%:*}" "${line#*:}" "$module/version" "${version#v}" "$module/cmd/containerd"
done
shim="$cache/containerd-2.3/containerd-shim-runc-v2" # 2.3 starts no older one
[ "$(cat "$shim.key" 2>/dev/null)" = "$(cat "$cache/containerd-2.3/key")" ] || {
  (cd go/containerd-2.3 && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$shim" "$module/cmd/containerd-shim-runc-v2")
  cp "$cache/containerd-2.3/key" "$shim.key"
}
key=$(cat go/cri/go.sum go/cri/*.go | sha256sum | cut -c1-16)
if [ "$(cat "$cache/cri/key" 2>/dev/null)" != "$key" ]; then
  mkdir -p "$cache/cri"
  (cd go/cri && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$cache/cri/cri" .)
  echo "$key" >"$cache/cri/key"
fi
for version in 1.6 1.7 2.1 2.3; do "$cache/containerd-$version/containerd" --version; done
for program in docker-26/dockerd docker-26/docker runc-1.1/runc; do "$cache/$program" --version; done
