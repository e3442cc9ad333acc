#!/bin/bash
# Leaves promtool of Debian's package prometheus in CACHE/promtool for tests/real/test_format_readers.py: unpacked and not installed, because
# the package would start a server. Run again it does nothing.
set -euo pipefail
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests
mkdir -p "$cache"
exec 9>"$cache/promtool.lock"
flock 9
if [ ! -x "$cache/promtool" ]; then
  command -v apt-get >/dev/null || { echo "wants apt" >&2; exit 1; }
  work=$(mktemp -d "$cache/prometheus.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  (cd "$work" && apt-get -qq -o APT::Sandbox::User=root download prometheus)
  dpkg-deb --fsys-tarfile "$work"/prometheus_*.deb | tar -C "$work" -xf - ./usr/bin/promtool
  mv "$work/usr/bin/promtool" "$cache/promtool"
fi
"$cache/promtool" --version 2>&1 | head -1
