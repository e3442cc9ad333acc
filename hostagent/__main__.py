"""``hostagent`` and ``python -m hostagent``: from here on only a verdict exits 1.

Python's own start comes before: an interpreter that cannot start, or does not find this file, exits 1 by itself. So do the modules that
``-m`` needs to find this one (runpy, importlib), which Python looks for in the current directory first: ``python -I -m`` does not.
"""

import sys


def _forget_current_directory() -> None:
    """What lies there is somebody else's click.py. An empty entry of PYTHONPATH means it too."""
    import os

    added_by_python = not (sys.flags.isolated or getattr(sys.flags, "safe_path", False))
    if __name__ == "__main__" and added_by_python:
        del sys.path[0]  # what -m puts there, or the folder of this file
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if len(named) > 1 and "" in named and not sys.flags.ignore_environment:
        sys.path[:] = [place for place in sys.path if place in named or not _is_here(place)]


def _is_here(place: str) -> bool:
    import os

    try:
        return os.path.samefile(place or ".", ".")
    except OSError:  # no such place
        return False


def main() -> None:
    """Run the command line and end this process: 0 and 1 are what the command says, 2 is everything else."""
    code = 2
    try:
        _forget_current_directory()
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
