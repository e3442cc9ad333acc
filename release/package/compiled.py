"""Compiles hostagent for the Python that runs this; with ``--remove`` removes what any Python has compiled. For the package's scripts."""
# ruff: noqa: INP001  a program

import compileall
import os
import re
import shutil
import sys

PLACE = "/opt/hostagent"
LIBRARY = f"{PLACE}/lib"


def remove() -> None:
    for folder, names, _ in os.walk(PLACE, topdown=False):
        if "__pycache__" in names:
            shutil.rmtree(os.path.join(folder, "__pycache__"))


def compile_all() -> None:
    """Without what is for other Pythons. Some files, such as templates of Ansible, do not compile: they are never imported."""
    sys.path.insert(0, LIBRARY)
    sys.dont_write_bytecode = True
    from hostagent_start import places

    os.umask(0o022)
    compileall.compile_dir(LIBRARY, maxlevels=20, rx=re.compile(r"/_python/"), quiet=2)
    for one in places(LIBRARY):
        compileall.compile_dir(one, maxlevels=20, quiet=2)


if __name__ == "__main__":
    remove()
    if sys.argv[1:] != ["--remove"]:
        compile_all()
