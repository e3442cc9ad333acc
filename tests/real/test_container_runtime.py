"""A node whose nvidia runtime is broken, by a real containerd: a pod that asks for no runtime class starts, as the agent's does."""

import os

import pytest

from tests.real.manifests import rendered
from tests.real.test_install_cri import folder, image, started  # noqa: F401  fixtures

pytestmark = [
    pytest.mark.alone,
    pytest.mark.full,
    pytest.mark.skipif(os.geteuid() != 0, reason="containers are started by root"),
]
CONFIG = """\
version = 3
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{image}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.runtime".containerd]
  default_runtime_name = "{default}"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options]
  BinaryName = "/nowhere/nvidia-container-runtime"
"""
LOOKED = 3  # what the container's program ends with where it sees no GPU


@pytest.mark.parametrize("overlay", ["observe", "observe-unprivileged"])
def test_the_agent_asks_for_no_runtime_class(overlay):
    pod = next(one for one in rendered(overlay) if one["kind"] == "DaemonSet")["spec"]["template"]["spec"]
    assert "runtimeClassName" not in pod
    assert not [one for one in pod["containers"][0]["env"] if one["name"].startswith("NVIDIA_")]


def test_such_a_pod_starts_where_the_nvidia_handler_is_broken(image, folder):  # noqa: F811
    with started("2.1", folder, {"config.toml": CONFIG.format(image=image, default="runc")}) as ask:
        assert "/nowhere/nvidia-container-runtime" in ask(image, "nvidia")["error"]
        assert ask(image, "").get("exit") == LOOKED


def test_where_the_broken_one_is_the_default_no_pod_starts_at_all(image, folder):  # noqa: F811
    """The node says nothing then: its label is old, and the controller closes it for its silence."""
    with started("2.1", folder, {"config.toml": CONFIG.format(image=image, default="nvidia")}) as ask:
        assert "/nowhere/nvidia-container-runtime" in ask(image, "")["error"]
