"""The words that start this very hostagent from any directory, with any environment."""

import os
import site
import sys

import hostagent
from hostagent.errors import HostagentError

#: Isolated: neither the current directory nor a variable of the caller brings another module in. Its first argument is the sentence for
#: the day on which this hostagent has gone, the rest is the command line.
_START = """\
import sys
gone = sys.argv.pop(1)
{paths}try:
    import hostagent.cli.run
    from hostagent.__main__ import main
except Exception:
    sys.exit(gone)
main()
"""


def words() -> tuple[str, ...]:
    """Program and arguments; `gone` comes behind them, then the command line."""
    if not sys.executable:
        raise HostagentError("found no path of this Python", "Start hostagent by its absolute path")
    paths = _paths()
    return os.path.abspath(sys.executable), "-I", "-c", _START.format(paths=f"sys.path[:0] = {paths!a}\n" if paths else "")


def gone() -> str:
    return f"hostagent is not at {os.path.dirname(_package())} any more: install it again, then run 'hostagent setup --write-shim' again."


def _package() -> str:
    return os.path.dirname(os.path.abspath(hostagent.__file__))


def _paths() -> list[str]:
    """What an isolated Python leaves out of its path, where this hostagent stands there: PYTHONPATH, and the user's own packages."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep) if not sys.flags.ignore_environment else []
    left = [os.path.abspath(one) for one in named if one]
    if site.ENABLE_USER_SITE:
        left.append(os.path.abspath(site.getusersitepackages()))
    left = [one for one in dict.fromkeys(left) if one in sys.path]
    return left if os.path.dirname(_package()) in left else []
