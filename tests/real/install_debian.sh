#!/bin/bash
# Leaves roots with Debian's own NVIDIA packages, as dpkg installed them, in CACHE/debian-SUITE-{open,proprietary} for
# tests/real/test_debian.py. Needs root, apt and this machine's own Debian mirror. Run again it does nothing.
#
# The NVIDIA packages and what their scripts call are unpacked and configured by dpkg in a root of their own. Below them lies a base that
# is unpacked and not in dpkg's database, so that dpkg is told not to mind dependencies. Compilers and kernels are left out: DKMS knows
# the sources and builds nothing, and the tests make up modules and kernels.
set -euo pipefail
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
key=$(sha256sum "$0" | cut -c1-16)
sources=/etc/apt/sources.list.d/debian.sources
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "wants root and apt" >&2; exit 1; }
mirror=$({ awk '/^URIs:/ { print $2; exit }' $sources || awk '$1 == "deb" { print $2; exit }' /etc/apt/sources.list; } 2>/dev/null)
mkdir -p "$cache"
exec 9>"$cache/debian.lock"
flock 9

base=(base-files bash dash coreutils dpkg perl-base sed grep mawk tar findutils debianutils hostname init-system-helpers libc6 libc-bin libcrypt1 libselinux1
  libpcre2-8-0 libacl1 libattr1 libgmp10 libtinfo6 liblzma5 libzstd1 zlib1g libmd0 libbz2-1.0)
parts=(debconf kmod libkmod2 dkms lsb-release update-glx glx-alternative-mesa nvidia-installer-cleanup glx-diversions glx-alternative-nvidia
  nvidia-legacy-check nvidia-support nvidia-alternative libnvidia-ptxjitcompiler1 libcuda1 firmware-nvidia-gsp nvidia-kernel-common
  nvidia-modprobe libnvidia-ml1 nvidia-smi)
flavours=(nvidia-open-kernel-support nvidia-open-kernel-dkms nvidia-kernel-support nvidia-kernel-dkms)
excluded=(--path-exclude='/usr/share/doc/*' --path-exclude='/usr/share/man/*' --path-exclude='/usr/share/locale/*'
  --path-exclude='/usr/src/*' --path-include='/usr/src/*/dkms.conf')

unpack() { # ROOT PACKAGE-FILE...
  local root=$1
  shift
  dpkg --root="$root" --force-depends "${excluded[@]}" --unpack "$@"
}

build() { # SUITE: both flavours
  local suite=$1 ssl=$2 apt name
  work=$(mktemp -d "$cache/debian-$suite.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  chmod 755 "$work"
  mkdir -p "$work"/lists/partial "$work"/archives/partial "$work"/base "$work"/parts "$work"/open "$work"/root
  printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main contrib non-free non-free-firmware\nSigned-By: %s\n' \
    "$mirror" "$suite" "$keyring" >"$work/debian.sources"
  : >"$work/status"
  apt=(apt-get -qq -o "Dir::Etc::SourceList=$work/debian.sources" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$work/lists"
    -o "Dir::Cache=$work" -o "Dir::State::Status=$work/status" -o APT::Sandbox::User=root -o Acquire::Languages=none)
  "${apt[@]}" update
  (cd "$work/base" && "${apt[@]}" download "${base[@]}" "$ssl")
  (cd "$work/parts" && "${apt[@]}" download "${parts[@]}")
  for name in "${flavours[@]}"; do mkdir "$work/$name" && (cd "$work/$name" && "${apt[@]}" download "$name"); done
  for name in bin sbin lib lib64; do mkdir -p "$work/root/usr/$name" && ln -s "usr/$name" "$work/root/$name"; done
  for name in "$work"/base/*.deb; do dpkg-deb --fsys-tarfile "$name" | tar -C "$work/root" --keep-directory-symlink -xf -; done
  mkdir -p "$work"/root/var/lib/dpkg/{info,updates,triggers,alternatives} "$work"/root/dev
  : >"$work/root/var/lib/dpkg/status"
  ln -sf mawk "$work/root/usr/bin/awk"
  mknod -m 666 "$work/root/dev/null" c 1 3
  unpack "$work/root" "$work"/parts/*.deb
  for name in open proprietary; do
    rm -rf "$cache/debian-$suite-$name"
    cp -a "$work/root" "$work/made"
    if [ $name = open ]; then unpack "$work/made" "$work"/nvidia-open-*/*.deb; else unpack "$work/made" "$work"/nvidia-kernel-*/*.deb; fi
    DEBIAN_FRONTEND=noninteractive dpkg --root="$work/made" --force-depends --configure -a
    ldconfig -r "$work/made"
    rm -rf "$work"/made/dev "$work"/made/var/log/*
    mv "$work/made" "$cache/debian-$suite-$name"
  done
  echo "$key" >"$cache/debian-$suite.key"
}

made=()
for pair in bookworm:libssl3 trixie:libssl3t64; do
  suite=${pair%%:*}
  [ "$(cat "$cache/debian-$suite.key" 2>/dev/null)" = "$key" ] && continue
  (build "$suite" "${pair##*:}") >"$cache/debian-$suite.log" 2>&1 &
  made+=($!)
done
failed=0
for pid in "${made[@]:-}"; do [ -z "$pid" ] || wait "$pid" || failed=1; done
[ $failed = 0 ] || tail -n 3 "$cache"/debian-*.log >&2
exit $failed
