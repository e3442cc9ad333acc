"""The controller's Deployment, its container run as it asks by podman and runc: user 65532, no right, a root file system that is read-only.

Its API server is a real one; its token lies as the kubelet writes one for that user. It has this machine's network, in the place of a pod's.
"""

import os
import re
from pathlib import Path

import pytest

from tests.real.cluster import apply
from tests.real.controllerrun import LEASE, Agents
from tests.real.daemonrun import eventually
from tests.real.imagerun import image, kubelet_volume, podman
from tests.real.manifests import rendered
from tests.real.readinessrules import KEYS

pytestmark = [pytest.mark.full, pytest.mark.skipif(os.geteuid() != 0, reason="containers of root: run 'sudo make test'")]
#: In the place of a pod's address: of this machine alone.
POD_IP = "127.9.4.77"


def options(pod, token_volume):
    """What podman is told in the place of a container runtime: each right and mount of the manifest, and no other."""
    (container,) = pod["containers"]
    asked = {**pod["securityContext"], **container["securityContext"]}
    assert asked == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    yield from ("--user=65532:65532", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--read-only", "--read-only-tmpfs=false")
    yield f"--memory={re.fullmatch('([0-9]+)Mi', container['resources']['limits']['memory'])[1]}m"
    (mount,) = container["volumeMounts"]
    yield f"--volume={token_volume}:{mount['mountPath']}:ro"


def test_the_controllers_container_runs_with_no_right_at_all(cluster, tmp_path):
    apply(cluster, "overlays/controller")
    pod = next(one for one in rendered("controller") if one["kind"] == "Deployment")["spec"]["template"]["spec"]
    token, authority = cluster.token_of("hostagent", "hostagent-controller"), Path(cluster.ca).read_text()
    volume = kubelet_volume(tmp_path / "token", {"token": token, "ca.crt": authority, "namespace": "hostagent"})
    os.chmod(volume / "token", 0o600)
    os.chown(volume / "token", 65532, 0)
    nodes = ["closed-01", "open-01"]
    cluster.nodes(nodes)
    agents = Agents(cluster, nodes)
    agents.ready("open-01")
    agents.not_ready("closed-01")
    port = cluster.url.rpartition(":")[2]
    (container,) = pod["containers"]
    arguments = [one.replace("$(POD_IP)", POD_IP) for one in container["args"]]
    server = ("--env=KUBERNETES_SERVICE_HOST=127.0.0.1", f"--env=KUBERNETES_SERVICE_PORT={port}")
    started = podman("run", "--detach", "--network=host", *options(pod, volume), *server, image(), *arguments).stdout.strip()
    try:
        eventually(lambda: {one["key"] for one in cluster.taints("closed-01")} == set(KEYS), 60)
        assert cluster.taints("open-01") == []
        assert cluster.admin("GET", LEASE)["spec"]["holderIdentity"]
        for probe in ("livenessProbe", "readinessProbe"):
            path = container[probe]["httpGet"]["path"]
            asked = podman(
                "exec", started, "python3", "-c", f"import urllib.request as u; print(u.urlopen('http://{POD_IP}:9477{path}').status)"
            )
            assert asked.stdout.strip() == "200"
        status = podman("exec", started, "cat", "/proc/1/status").stdout
        assert re.search(r"^Uid:\s+65532\s+65532\s+65532\s+65532$", status, re.MULTILINE)
        assert set(re.findall(r"^Cap\w+:\s+(\w+)$", status, re.MULTILINE)) == {"0" * 16}
        assert re.search(r"^NoNewPrivs:\s+1$", status, re.MULTILINE)
    finally:
        podman("rm", "--force", "--time=0", started)
