"""The running hostagent: the command that starts it from any directory, with any environment, and the command that adds an extra."""

import os
import shlex
import site
import sys

from hostagent.core import installation
from hostagent.core.errors import HostagentError

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
    """Program and first arguments, before those of the command line."""
    way, program = installation.this()
    if way in ("pyz", "package"):
        if not os.access(program, os.X_OK):
            raise HostagentError(f"found no program at {program} that may be run", f"Make it one with 'chmod +x {shlex.quote(program)}'")
        return (program,)
    if not sys.executable:
        raise HostagentError("found no path of this Python", "Start hostagent by its absolute path")
    paths = _paths()
    start = _START.format(paths=f"sys.path[:0] = {paths!a}\n" if paths else "")
    return os.path.abspath(sys.executable), "-I", "-c", start, gone()


def gone() -> str:
    way, program = installation.this()
    place = program if way in ("pyz", "package") else installation.directory()
    return f"hostagent is not at {place} any more: install it again, then run 'hostagent setup --write-shim' again."


def _paths() -> list[str]:
    """PYTHONPATH and the user's own packages, which an isolated Python leaves out, where this hostagent is in one of them."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep) if not sys.flags.ignore_environment else []
    left = [os.path.abspath(one) for one in named if one]
    if site.ENABLE_USER_SITE:
        left.append(os.path.abspath(site.getusersitepackages()))
    left = [one for one in dict.fromkeys(left) if one in sys.path]
    return left if installation.directory() in left else []


def refuse_without_ansible() -> None:
    """Raises ``HostagentError`` where the extra is missing."""
    import importlib.util

    missing = [name for name in ("ansible", "ansible_runner") if importlib.util.find_spec(name) is None]
    if missing:
        raise HostagentError(
            f"found no Python module {' and no '.join(missing)}, wanted what carries out a plan",
            extra_step("install"),
        )


def extra_step(extra: str) -> str:
    """The command that adds an extra to this installation: its own pip, with the pins next to the source, else from its origin.

    hostagent is on no package index. A single file and a package have every extra.
    """
    if installation.this().way in ("pyz", "package"):
        return f"This copy is damaged. {installation.damaged_step()}"
    source, prefix = _source(), os.path.abspath(sys.prefix)
    if not source:
        return f"Install the extra '{extra}' into {prefix} from the source hostagent was installed from"
    *options, place = source
    pinned = os.path.join(place, f"requirements-{extra}.txt")
    wanted = f"hostagent[{extra}] @ {place}" if "://" in place else f"{place}[{extra}]"
    if os.path.exists(f"{prefix}/pipx_metadata.json"):
        command = ["pipx", "install", "--force", *options, wanted]
    elif os.path.exists(f"{prefix}/bin/pip"):
        words = ["--require-hashes", "-r", pinned] if os.path.isfile(pinned) else [*options, wanted]
        command = [f"{prefix}/bin/pip", "install", *words]
    else:
        return f"Install the extra '{extra}' into {prefix} from {place}"
    return f"Install it: {shlex.join(command)}"


def _source() -> list[str]:
    """The last words of the pip that installed this copy; [] where they are not known, or their directory has gone."""
    found = installation.origin()
    if found is None or not found.url:
        return []
    if found.revision:
        return [found.revision]
    if found.place and not os.path.exists(found.place):
        return []
    return [*(["-e"] if found.is_editable else []), found.place or found.url]
