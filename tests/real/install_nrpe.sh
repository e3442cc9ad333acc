#!/bin/bash
# Leaves NRPE's server and client of Debian's packages in CACHE/nrpe, with the library that they need, for tests/real/test_nrpe.py: unpacked and
# not installed, because the package would start a server. Run again it does nothing.
set -euo pipefail
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
mkdir -p "$cache"
exec 9>"$cache/nrpe.lock"
flock 9
if [ ! -x "$cache/nrpe/check_nrpe" ]; then
  command -v apt-get >/dev/null || { echo "wants apt" >&2; exit 1; }
  work=$(mktemp -d "$cache/nrpe.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  mkdir "$work/packages" "$work/found"
  (cd "$work/packages" && apt-get -qq -o APT::Sandbox::User=root download nagios-nrpe-server nagios-nrpe-plugin libwrap0)
  for package in "$work"/packages/*.deb; do dpkg-deb -x "$package" "$work/root"; done
  cp "$work/root/usr/sbin/nrpe" "$work/root/usr/lib/nagios/plugins/check_nrpe" "$work/found"
  find "$work/root" -name 'libwrap.so*' -exec cp -P {} "$work/found" \;
  rm -rf "$cache/nrpe"
  mv "$work/found" "$cache/nrpe"
fi
LD_LIBRARY_PATH=$cache/nrpe "$cache/nrpe/nrpe" --version 2>&1 | grep -m 1 -i version || true
