#!/usr/bin/env bash
# Runs the suite on every CPython of 3.10 to 3.14 that PATH or pyenv has, each in an environment of its own, and names the missing.
#   bash tests/pythons.sh [--tests 'tests/unit hostagent'] [3.10 …]
# Ends with 1 where a version fails or none is found.
set -uo pipefail
unset PYTHONDONTWRITEBYTECODE
cd "$(dirname "$0")/.."
pyenv_root=${PYENV_ROOT:-$(type -aP python3 python3.10 | sed -n 's|/shims/.*||p' | head -n 1)}
pyenv_root=${pyenv_root:-$HOME/.pyenv}
supported=(3.10 3.11 3.12 3.13 3.14)
tests=()
if [ "${1:-}" = --tests ]; then
  read -ra tests <<<"$2"
  shift 2
fi
[ $# -gt 0 ] || set -- "${supported[@]}"

# The interpreter of a version: pyenv leaves names on PATH that run nothing, so each is asked.
find_python() {
  local candidate
  while read -r candidate; do
    "$candidate" -c "import sys; sys.exit((sys.implementation.name, '%d.%d' % sys.version_info[:2]) != ('cpython', '$1'))" 2>/dev/null &&
      echo "$candidate" && return
  done < <(type -aP "python$1"; printf '%s\n' "$pyenv_root/versions/$1".*/"bin/python$1" | sort -rV)
  return 1
}

run_suite() { # version, interpreter
  local venv=".venv-$1" log
  log=$(mktemp)
  "$venv/bin/python" -c '' 2>/dev/null || rm -rf "$venv"
  if make --no-print-directory VENV="$venv" PYTHON="$2" "$venv/.tests" >"$log" 2>&1; then
    "$venv/bin/python" -m compileall -q hostagent checks/hostagent_checks tests
    "$venv/bin/python" -m pytest -n 2 --dist worksteal "${tests[@]}"
  else
    tail -n 20 "$log" >&2
    false
  fi
  local code=$?
  rm -f "$log"
  return "$code"
}

passed=() failed=() missing=()
for version in "$@"; do
  if ! python=$(find_python "$version"); then
    missing+=("$version")
    continue
  fi
  echo "== Python $version: $python"
  if run_suite "$version" "$python"; then passed+=("$version"); else failed+=("$version"); fi
done
echo "Python: passed ${passed[*]:-none}; failed ${failed[*]:-none}; missing ${missing[*]:-none}"
[ ${#missing[@]} = 0 ] || echo "NOT TESTED, no such Python here: ${missing[*]}. With pyenv: 'pyenv install ${missing[*]}'." >&2
[ ${#failed[@]} = 0 ] && [ ${#passed[@]} -gt 0 ]
