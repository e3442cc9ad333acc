"""Without privileges on a host with rpm: what an agent reads with the rights of the overlay, in a container of podman and runc.

The host is a made tree with the database of a real rpm; the container's files are this machine's.
"""

import json
import os
import shutil

import pytest

from tests.attack import pod
from tests.real import rpms
from tests.real.manifests import rendered
from tests.trees import hosts

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="containers of root: run 'sudo make test'")]


def options(overlay):
    """What podman is told of the rights and of the places in memory of the overlay's container."""
    agent = next(one for one in rendered(overlay) if one["kind"] == "DaemonSet")["spec"]["template"]["spec"]
    (container,) = agent["containers"]
    rights = container["securityContext"]
    assert rights["readOnlyRootFilesystem"]
    assert not rights["allowPrivilegeEscalation"]
    memory = {one["name"] for one in agent["volumes"] if "emptyDir" in one}
    places = [one["mountPath"] for one in container["volumeMounts"] if one["name"] in memory]
    yield from ("--read-only", "--read-only-tmpfs=false", "--security-opt=no-new-privileges")
    yield from (f"--cap-drop={one}" for one in rights["capabilities"]["drop"])
    yield from (f"--cap-add={one}" for one in rights["capabilities"]["add"])
    assert places == ["/tmp"]
    yield from ("--tmpfs=/run/copies:mode=0777,notmpcopyup", "--env=TMPDIR=/run/copies")  # in /tmp may lie the clone itself


def test_without_privileges_packages_of_rpm_are_read(tmp_path):
    """Nobody else's user is to be had there: rpm runs as the agent does, with no capability."""
    tree = tmp_path / "tree"
    hosts.hgx_h100(tree)
    rpms.install(tmp_path / "installed")
    shutil.copytree(tmp_path / "installed/var/lib/rpm", tree / "var/lib/rpm", dirs_exist_ok=True)
    shutil.rmtree(tree / "var/lib/dpkg")
    asked = ("check", "--host-root", "/host", "--only", "driver.package_set_equal", "--format", "json")
    done = pod.run((*options("observe-unprivileged"), "-v", f"{tree}:/host:ro,rslave"), pod.HOSTAGENT, *asked)
    (found,) = json.loads(done.stdout)["findings"]
    assert found["outcome"] == "fail", found
