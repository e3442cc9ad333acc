#!/bin/bash
# Leaves in CACHE/slurm-roots-KEY a small Debian 13 with Slurm 24.11 and a Debian testing with the Slurm that it has (26.05 in November 2026),
# for tests/real/test_slurm_versions.py. Needs root, mmdebstrap and this machine's own Debian mirror. KEY is the hash of this script. Run again it
# does nothing.
set -euo pipefail
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
key=$(sha256sum "$0" | cut -c1-16)
target="$cache/slurm-roots-$key"
[ "$(id -u)" = 0 ] && command -v mmdebstrap >/dev/null || { echo "wants root and mmdebstrap" >&2; exit 1; }
mkdir -p "$cache"
exec 9>"$cache/slurm-roots.lock"
flock 9
[ -d "$target" ] && exit 0
rm -rf "$cache"/slurm-roots-*
mkdir "$target-part"
mirror=$({ awk '/^URIs:/ { print $2; exit }' /etc/apt/sources.list.d/debian.sources || awk '$1 == "deb" { print $2; exit }' /etc/apt/sources.list; } 2>/dev/null)
# Libraries at the end: of the Python that runs the tests, which is seen inside.
for suite in trixie forky; do
  root="$target-part/$suite"
  mmdebstrap --quiet --mode=root --variant=minbase --include=slurmctld,slurmd,slurm-client,util-linux,libssl3t64,libffi8,libsqlite3-0,liblzma5,libbz2-1.0,zlib1g \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    $suite "$root" ${mirror:+"$mirror"}
  rm -rf "$root"/dev/* "$root"/var/log/* "$root"/var/lib/apt/lists/* "$root"/usr/share/zoneinfo
done
mv "$target-part" "$target"
