#!/usr/bin/env bash
# Installs the real programs that the tests use as judges: Debian packages, and what the other scripts here fetch or build.
# Where that is not possible (no root, no apt, no Go) the tests that need them skip and say so;
# with HOSTAGENT_REQUIRE_REAL=1 a failure here is a failure.
set -uo pipefail
cd "$(dirname "$0")"
failed=0
packages=(db5.3-util gcc libc6-dev binutils pciutils kmod rpm sqlite3 dpkg-dev gpg openssl zstd xz-utils systemd util-linux podman runc grub-emu mmdebstrap apt-utils
  zsh fish libxml2-utils hwloc-nox systemd-container libibverbs1 ibverbs-providers groff-base slurmctld slurmd slurm-client munge)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get -qq update && apt-get -qq install -y --no-install-recommends "${missing[@]}"; } >/dev/null || failed=1
  else
    echo "Note: some tests will skip; as root on Debian or Ubuntu: apt-get install ${missing[*]}" >&2
    failed=1
  fi
fi
export PATH="$PWD/bin:$PATH" # go
for script in install_*.sh; do
  bash "$script" || { echo "Note: $script failed; the tests that need it will skip" >&2; failed=1; }
done
[ "$failed" = 0 ] || [ "${HOSTAGENT_REQUIRE_REAL:-0}" != 1 ]
