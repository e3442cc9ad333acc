"""A pod's own token and authority, in a projected volume as the kubelet makes and mounts one: 0777, links, read-only."""

import json
import os
import subprocess
import sys

import pytest

from tests.real.conftest import need_real

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root: run the tests as root")
#: The agent's user, and the controller's.
AGENT, CONTROLLER = 0, 65532
VERSION = "..2026_11_30_04_00_00.1234567890"
ASK = """
import json, os, sys
from hostagent.core.errors import HostagentError
from hostagent.kube.config import identity, in_cluster, trusted_owners
from hostagent.core.smallfile import refuse_others
os.setgroups([]), os.setgid(int(sys.argv[2])), os.setuid(int(sys.argv[2]))
try:
    access = in_cluster({"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}, sys.argv[1])
    refuse_others(access.ca, trusted_owners())
    print(json.dumps([access.server, identity(access).token]))
except (HostagentError, OSError) as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""


def volume(folder, user):
    """kubernetes/pkg/volume/util/atomic_writer.go: the token is the pod's user's alone, all else root's."""
    for path in (folder, *folder.parents):
        path.mkdir(exist_ok=True)
        if path.stat().st_mode & 0o011 != 0o011:
            path.chmod(path.stat().st_mode | 0o011)
    (folder / VERSION).mkdir(mode=0o755)
    (folder / "..data").symlink_to(VERSION)
    for name, text, mode in (("token", "a-token", 0o600), ("ca.crt", "an authority", 0o644), ("namespace", "hostagent", 0o644)):
        (folder / VERSION / name).write_text(text)
        (folder / VERSION / name).chmod(mode)
        (folder / name).symlink_to(f"..data/{name}")
    os.chown(folder / VERSION / "token", user, 0)
    folder.chmod(0o777)
    return folder


def asked(folder, user, mount="ro"):
    need_real("unshare", "apt-get install util-linux")
    script = f'mount --bind "$1" "$1" && mount -o remount,bind,{mount} "$1" && exec "$3" -c "$4" "$1" "$2"'
    argv = ["unshare", "-m", "/bin/sh", "-c", script, "sh", folder, user, sys.executable, ASK]
    done = subprocess.run([str(one) for one in argv], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("user", [AGENT, CONTROLLER])
def test_the_token_of_a_projected_volume_is_used(tmp_path, user):
    assert asked(volume(tmp_path / "token", user), user) == ["https://[fd00::1]:443", "a-token"]


@pytest.mark.parametrize("user", [AGENT, CONTROLLER])
def test_the_same_files_where_others_could_write_them_are_refused(tmp_path, user):
    kind, words = asked(volume(tmp_path / "token", user), user, mount="rw")
    assert kind in ("HostagentError", "NotOwnError")
    assert "everybody may write (mode 0777)" in words
