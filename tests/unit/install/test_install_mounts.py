"""The private place of a run: nobody else sees what is in it, and nobody takes it away by clearing what hostagent keeps in /run."""

import os
import subprocess
import sys

import pytest

_SCRIPT = """
import os, shutil, sys
from hostagent.engine.target import Evidence
from hostagent.install import mounts
from hostagent.install.target import Target
from hostagent.sandbox import mounting
from hostagent.sandbox.namespaces import own_mounts

own_mounts()
mounting.file_system("tmpfs", "/run", "mode=755")
os.mkdir("/run/hostagent")
(theirs, ready), (go, ours) = os.pipe(), os.pipe()
if os.fork() == 0:
    place = mounts.move_in(Target(Evidence(host_root="/")))
    open(f"{place}/file", "w").close()
    os.write(ready, place.encode())
    os.read(go, 1)
    os._exit(0 if os.listdir(place) == ["file"] else 1)
place = os.read(theirs, 4096).decode()
seen = os.listdir(place)
shutil.rmtree("/run/hostagent")
os.write(ours, b"x")
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]) or len(seen))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_whoever_clears_what_the_checks_keep_in_run_takes_nothing_from_a_run_that_works():
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
