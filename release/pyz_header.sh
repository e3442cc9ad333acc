#!/bin/sh
# hostagent in one file, for each Python from 3.10 on: run it, or start it by a Python: python3.12 hostagent.pyz check
wanted=@SIZE@
size=$(PATH=/usr/bin:/bin${PATH:+:$PATH}; wc -c <"$0" 2>/dev/null)
[ "${size:-$wanted}" -eq $wanted ] || { echo "Error: found $size bytes in $0, wanted $wanted. Copy it again." >&2; exit 2; }
[ ! -x /usr/bin/python3 ] || exec /usr/bin/python3 -I "$0" "$@"
for python in "$(command -v python3)" /usr/bin/python3.1[0-9] /usr/local/bin/python3 /usr/libexec/platform-python; do
  case $python in /*) [ ! -x "$python" ] || ! "$python" -I -c "" 2>/dev/null || exec "$python" -I "$0" "$@" ;; esac
done
echo "Error: found no python3, wanted Python 3.10 or newer. Install one: 'apt-get install python3' (Debian, Ubuntu) or 'dnf install python3.12' (RHEL)." >&2
exit 2
