#!/bin/bash
# Leaves in CACHE/install-roots-KEY a small Debian 12 (systemd, kmod, initramfs-tools, and the .deb of the real dkms), from which
# tests/real/installroots.py makes the roots that are installed into. Needs root, mmdebstrap and this machine's own Debian mirror.
# KEY is the hash of this script. Run again it does nothing.
set -euo pipefail
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
key=$(sha256sum "$0" | cut -c1-16)
target="$cache/install-roots-$key"
[ "$(id -u)" = 0 ] && command -v mmdebstrap >/dev/null || { echo "wants root and mmdebstrap" >&2; exit 1; }
mkdir -p "$cache"
exec 9>"$cache/install-roots.lock"
flock 9
[ -d "$target" ] && exit 0
rm -rf "$cache"/install-roots-*-part
work="$cache/install-roots-$key-part"
mkdir -p "$work/debs"
mirror=$({ awk '/^URIs:/ { print $2; exit }' /etc/apt/sources.list.d/debian.sources || awk '$1 == "deb" { print $2; exit }' /etc/apt/sources.list; } 2>/dev/null)
mmdebstrap --quiet --mode=root --variant=apt --include=systemd,kmod,initramfs-tools,lsb-release \
  --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --dpkgopt='path-exclude=/usr/share/i18n/*' --dpkgopt='path-exclude=/usr/lib/udev/hwdb.d/*' \
  --customize-hook='cd "$1" && chroot "$1" apt-get -q download dkms' \
  bookworm "$work/base" ${mirror:+"$mirror"}
mv "$work"/base/dkms_*.deb "$work/debs/"
rm -rf "$work"/base/dev "$work"/base/var/log/* "$work"/base/var/cache/apt/*.bin "$work"/base/etc/apt/sources.list* "$work"/base/etc/resolv.conf \
  "$work"/base/usr/share/zoneinfo "$work"/base/etc/dpkg/dpkg.cfg.d/*mmdebstrap* "$work"/base/etc/apt/apt.conf.d/*mmdebstrap*
mkdir -p "$work"/base/dev "$work"/base/etc/apt/sources.list.d
: >"$work/base/etc/machine-id"
mv "$work" "$target"
