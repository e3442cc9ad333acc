#!/bin/bash
# Leaves in CACHE/package-roots-KEY a small Debian 12 and a Debian 13 (systemd, no Python), each with what apt needs to install Python
# without a network, for tests/real/test_packages_built.py. Needs root, mmdebstrap and this machine's own Debian mirror. KEY is the hash of
# this script. Run again it does nothing.
set -euo pipefail
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
key=$(sha256sum "$0" | cut -c1-16)
target="$cache/package-roots-$key"
[ "$(id -u)" = 0 ] && command -v mmdebstrap >/dev/null || { echo "wants root and mmdebstrap" >&2; exit 1; }
mkdir -p "$cache"
exec 9>"$cache/package-roots.lock"
flock 9
[ -d "$target" ] && exit 0
rm -rf "$cache"/package-roots-*
mkdir "$target-part"
mirror=$({ awk '/^URIs:/ { print $2; exit }' /etc/apt/sources.list.d/debian.sources || awk '$1 == "deb" { print $2; exit }' /etc/apt/sources.list; } 2>/dev/null)
for suite in bookworm trixie; do
  root="$target-part/$suite"
  mmdebstrap --quiet --mode=root --variant=apt --include=systemd \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/i18n/*' --dpkgopt='path-exclude=/usr/lib/udev/hwdb.d/*' \
    --customize-hook='mkdir -p "$1/srv/archives/partial"' \
    --customize-hook='chroot "$1" apt-get -q -y -o Dir::Cache::Archives=/srv/archives -o APT::Sandbox::User=root --download-only install python3' \
    --skip=cleanup/apt/lists --skip=cleanup/apt/cache $suite "$root" ${mirror:+"$mirror"}
  # A repository of those packages alone is a hundredth of Debian's index.
  (cd "$root/srv/archives" && rm -rf partial lock && apt-ftparchive packages . >Packages)
  rm -rf "$root"/dev/* "$root"/var/log/* "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/etc/apt/sources.list* "$root"/etc/resolv.conf \
    "$root"/usr/share/zoneinfo "$root"/etc/dpkg/dpkg.cfg.d/*mmdebstrap* "$root"/etc/apt/apt.conf.d/*mmdebstrap*
  mkdir -p "$root"/etc/apt/sources.list.d "$root"/var/lib/apt/lists/partial
  echo 'deb [trusted=yes] file:/srv/archives ./' >"$root/etc/apt/sources.list"
  : >"$root/etc/machine-id"
done
mv "$target-part" "$target"
