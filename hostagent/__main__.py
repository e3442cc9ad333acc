"""``hostagent`` and ``python -m hostagent``: from here on only a verdict exits 1, and nothing is imported by a relative path.

Python's own start comes before: an interpreter that cannot start, or does not find this file, exits 1 by itself. So do the modules that
``-m`` needs to find this one (runpy, importlib), which Python looks for in the current directory first: ``python -I -m`` does not. A
PYTHONPATH with an entry that is empty or relative is that directory, too: its sitecustomize.py, what a .pth file imports, and its hostagent
come before this file whatever stands here, also with ``-P``, which leaves PYTHONPATH as it is; ``-I`` and ``-E`` do not.
"""

import sys


def _forget_relative_paths() -> None:
    """What lies in the current directory, or below it, is somebody else's click.py."""
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


def main() -> None:
    """Run the command line and end this process: 0 and 1 are what the command says, 2 is everything else."""
    code = 2
    try:
        _forget_relative_paths()
        from hostagent.cli.run import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    except BaseException as error:  # before `run` could tell
        import os

        os.write(2, f"Error: hostagent cannot run here: {type(error).__name__}: {str(error)!r:.200}.\n".encode("ascii", "backslashreplace"))
    finally:
        import os

        os._exit(code)  # Python's own way out flushes again, and exits 120 or 1 where that fails


if __name__ == "__main__":
    main()
