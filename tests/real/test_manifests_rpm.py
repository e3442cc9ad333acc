"""Without privileges on a host with rpm: what an agent reads with the rights of the overlay, in a container of podman and runc.

The host is a made tree with the database of a real rpm; the container's files are this machine's.
"""

import json
import os
import shutil

import pytest

from tests.attack import pod
from tests.real import rpms
from tests.real.imagerun import Pod
from tests.trees import hosts

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="containers of root: run 'sudo make test'")]


#: In the place of the pod's /tmp in memory: in /tmp may lie the clone itself.
COPIES = ("--tmpfs=/run/copies:mode=0777,notmpcopyup", "--env=TMPDIR=/run/copies")


def test_without_privileges_packages_of_rpm_are_read(tmp_path):
    """No other user is to be had there: rpm runs as the agent does, with no capability."""
    tree = tmp_path / "tree"
    hosts.hgx_h100_here(tree)
    rpms.install(tmp_path / "installed")
    shutil.copytree(tmp_path / "installed/var/lib/rpm", tree / "var/lib/rpm", dirs_exist_ok=True)
    shutil.rmtree(tree / "var/lib/dpkg")
    asked = ("check", "--host-root", "/host", "--only", "driver.package_set_equal", "--format", "json")
    unprivileged = Pod("observe-unprivileged", tree, tmp_path)
    assert "--tmpfs=/tmp" in unprivileged.options()
    done = pod.run((*unprivileged.rights(), *COPIES, "-v", f"{tree}:/host:ro,rslave"), pod.HOSTAGENT, *asked)
    (found,) = json.loads(done.stdout)["findings"]
    assert found["outcome"] == "fail", found
