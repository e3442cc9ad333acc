#!/usr/bin/env bash
# hostagent in the place of TAO's setup-nvidia-gpu-host.sh; 'hostagent setup --remove-shim' takes it away.
# Before it: nothing, 3 new directories.
# sha256 of all other lines: 8aa0b309364d38db9d97a47f9344de967e58dfb324e87f191acfa41322923438
words=(/opt/hostagent/.venv/bin/python -I -c 'import sys
gone = sys.argv.pop(1)
sys.path[:0] = ['"'"'/opt/hostagent'"'"', '"'"'/opt/hostagent/checks'"'"']
try:
    import hostagent.cli.run
    from hostagent.__main__ import main
except Exception:
    sys.exit(gone)
main()
' 'hostagent is not at /opt/hostagent any more: install it again, then run '"'"'hostagent setup --write-shim'"'"' again.')
gone='hostagent is not at /opt/hostagent any more: install it again, then run '"'"'hostagent setup --write-shim'"'"' again.'
if [ -f "${words[0]}" ] && [ -x "${words[0]}" ]; then
  shopt -s execfail
  exec "${words[@]}" setup "$@"
fi
printf '%s\n' "$gone" >&2
exit 1
