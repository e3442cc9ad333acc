"""``hostagent`` and ``python -m hostagent``: from here on only a verdict exits 1, and nothing is imported by a relative path.

Python's own start comes before: an interpreter that cannot start, or does not find this file, exits 1 by itself. So do the modules that
``-m`` needs to find this one (runpy, importlib), which Python looks for in the current directory first: ``python -I -m`` does not. A
PYTHONPATH with an entry that is empty or relative is that directory, too: its sitecustomize.py, what a .pth file imports, and its hostagent
come before this file whatever its code does, also with ``-P``, which leaves PYTHONPATH as it is; ``-I`` and ``-E`` do not.
"""

import sys


def _forget_relative_paths() -> None:
    """A click.py in the current directory, or below it, is not ours."""
    import os

    added_by_python = not (sys.flags.isolated or getattr(sys.flags, "safe_path", False))
    if __name__ == "__main__" and added_by_python:
        del sys.path[0]  # what -m puts there, or the folder of this file
    said = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    named = said.split(os.pathsep) if said else []
    relative = [one for one in named if not os.path.isabs(one)]
    sys.path[:] = [one for one in sys.path if os.path.isabs(one) and (one in named or not _is_one(one, relative))]


def _is_one(place: str, relative: "list[str]") -> bool:
    """Python has made them absolute by now, in a way of its own."""
    import os

    for one in relative:
        try:
            if os.path.samefile(place, one or "."):
                return True
        except OSError:  # no such place
            continue
    return False


def slurm_exit_code(arguments: "list[str]", why: str) -> "int | None":
    """The exit code of a program that Slurm starts, where hostagent itself cannot run; None of every other command.

    A prolog or epilog that fails drains its node: one broken file on a shared disk would drain them all. So these exit 0, unless a
    prolog has ``--on-own-fault refuse``. The line goes to the system's log as well: Slurm drops what such a program prints.
    """
    if len(arguments) < 2 or arguments[0] != "slurm" or arguments[1] not in ("prolog", "epilog", "health"):
        return None
    code = 0
    if arguments[1] == "prolog" and _value(arguments, "--on-own-fault") == "refuse":
        named = _value(arguments, "--refusal-code")
        code = int(named) if named.isascii() and named.isdecimal() and 0 < int(named) < 256 else 1
    shown = why if why.isprintable() else ascii(why)
    line = f"hostagent slurm {arguments[1]}: hostagent itself failed, so this exits {code}: {shown:.300}"
    try:
        import os

        os.write(2, f"{line}\n".encode("ascii", "backslashreplace"))
        import syslog

        syslog.openlog("hostagent", 0, syslog.LOG_DAEMON)
        syslog.syslog(syslog.LOG_ERR, line.encode("ascii", "backslashreplace").decode())
    except Exception:  # noqa: S110  neither is there: the exit code has to say it alone
        pass
    return code


def _value(arguments: "list[str]", option: str) -> str:
    """The last one that the command line gives it, "" for none."""
    found = ""
    for place, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name == option:
            found = value if equals else "".join(arguments[place + 1 : place + 2])
    return found


def main() -> None:
    """Run the command line and end this process: 0 and 1 are what the command says, 2 is everything else."""
    code = 2
    try:
        _forget_relative_paths()
        from hostagent.cli.run import run

        code = run(sys.argv[1:], slurm_exit_code)
    except KeyboardInterrupt:
        code = 130
    except BaseException as error:  # before `run` could tell
        import os

        why = f"{type(error).__name__}: {str(error)!r:.200}"
        os.write(2, f"Error: hostagent cannot run here: {why}.\n".encode("ascii", "backslashreplace"))
        spared = slurm_exit_code(sys.argv[1:], why)
        code = 2 if spared is None else spared
    finally:
        import os

        os._exit(code)  # Python's own way out flushes again, and exits 120 or 1 where that fails


if __name__ == "__main__":
    main()
