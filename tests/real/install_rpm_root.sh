#!/bin/bash
# Leaves in CACHE/rpm-root-KEY a small Debian 12 with the real dnf, zypper, rpm and createrepo_c, for tests/real/test_install_offers_rpm.py.
# Needs root, mmdebstrap and this machine's own Debian mirror. KEY is the hash of this script. Run again it does nothing.
set -euo pipefail
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
key=$(sha256sum "$0" | cut -c1-16)
target="$cache/rpm-root-$key"
[ "$(id -u)" = 0 ] && command -v mmdebstrap >/dev/null || { echo "wants root and mmdebstrap" >&2; exit 1; }
mkdir -p "$cache"
exec 9>"$cache/rpm-root.lock"
flock 9
[ -d "$target" ] && exit 0
rm -rf "$cache"/rpm-root-*-part
mirror=$({ awk '/^URIs:/ { print $2; exit }' /etc/apt/sources.list.d/debian.sources || awk '$1 == "deb" { print $2; exit }' /etc/apt/sources.list; } 2>/dev/null)
mmdebstrap --quiet --mode=root --variant=apt --include=dnf,createrepo-c,rpm,zypper \
  --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  bookworm "$target-part" ${mirror:+"$mirror"}
rm -rf "$target-part"/var/cache/apt/* "$target-part"/var/lib/apt/lists/*
mkdir -p "$target-part"/etc/rpm "$target-part"/etc/yum.repos.d "$target-part"/etc/zypp/repos.d "$target-part"/srv
echo '%_dbpath /var/lib/rpm' >"$target-part/etc/rpm/macros"  # where every distribution with rpm has it: Debian puts it below $HOME
mv "$target-part" "$target"
