"""Starts hostagent: run by /opt/hostagent/bin/hostagent, with -I. Any Python 3 reads this file."""
# ruff: noqa: INP001, UP036  a program, for older Pythons, too

import sys


def main() -> None:
    if sys.version_info < (3, 10):
        found = "%d.%d" % sys.version_info[:2]  # noqa: UP031
        sys.stderr.write("Error: found Python " + found + ", wanted 3.10 or newer. Install python3.12 (RHEL), or a newer system.\n")
        sys.exit(2)
    sys.path.insert(0, "/opt/hostagent/lib")
    try:
        from hostagent_start import start
    except BaseException as error:
        sys.stderr.write("Error: hostagent cannot run here: " + type(error).__name__ + ". Install its package again.\n")
        sys.exit(2)  # 1 is a verdict
    start("package", "/usr/bin/hostagent")


if __name__ == "__main__":
    main()
