"""The daemon in a container as a cluster starts it without privileges: user 0, the device rules, and of all rights SYSLOG and SYS_CHROOT alone.

The host that it judges is a made tree, mounted read-only. The kernel log and PCI of the real host are asked in `tests/attack/test_privileges.py`.
"""

import json
import os

import pytest

from tests.attack import pod
from tests.trees import fabrics, hosts, kubelets

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="containers of root: run 'sudo make test'")]
RIGHTS = ("--cap-drop", "ALL", "--cap-add", "SYSLOG", "--cap-add", "SYS_CHROOT", "--security-opt", "no-new-privileges")
OPTIONAL = """schema_version: "1.5"
name: observe
nvml: optional
verbs: optional
pci_configuration: optional
checks:
  host.clock_synchronised: {off: "the clock is this machine's"}
"""
#: Of the network of a made tree nobody is asked, in a container or not.
OF_A_TREE = "permission denied: this is no live host: its network is not the kernel's"
XID = "3,90001,90001000000,-;NVRM: Xid (PCI:0000:1b:00): 79, pid=1, name=x\n"


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """Healthy ones: InfiniBand, whose MTU verbs alone say, and RoCE, whose MTU the kernel's formula says too."""
    folder = tmp_path_factory.mktemp("trees")
    made = {"InfiniBand": folder / "infiniband", "RoCE": folder / "roce"}
    hosts.hgx_h100_here(made["InfiniBand"])
    kubelets.evict_nothing(fabrics.roce(made["RoCE"]))
    return made


def told(tree, folder, profile=OPTIONAL):
    """What one pass of the daemon in such a container leaves in its state directory: summary, and what went wrong."""
    (folder / "profile.yaml").write_text(profile)
    (folder / "state").mkdir(exist_ok=True)
    mounts = ("-v", f"{tree}:/host:ro,rslave", "-v", f"{folder}/profile.yaml:/etc/observe.yaml:ro", "-v", f"{folder}/state:/state")
    argv = (pod.HOSTAGENT, "daemon", "--host-root", "/host", "--profile", "/etc/observe.yaml", "--state-dir", "/state", "--once")
    done = pod.run((*RIGHTS, *mounts), *argv)
    assert done.stderr == ""
    summary = json.loads((folder / "state/summary.json").read_text())
    assert done.returncode == (0 if summary["verdict"]["single_node"] in ("ready", "degraded") else 1)
    return summary


@pytest.mark.parametrize(("kind", "multi_node"), [("InfiniBand", "ready"), ("RoCE", "unknown")])
def test_a_healthy_host_is_placeable_and_says_what_nobody_looked_at(trees, kind, multi_node, tmp_path):
    """With RoCE rails for jobs of one node alone: their cards are not asked for the lossless priority, and the host has no fabric class."""
    summary = told(trees[kind], tmp_path)
    assert summary["verdict"] == {"single_node": "ready", "multi_node": multi_node}, summary["headline"]
    assert summary["coverage"] == "host-only.no-network", "DCB of a RoCE card, for jobs or for storage"
    assert isinstance(summary["fabric"]["class"], str) == (multi_node == "ready")
    assert summary["gpus"]["count"] == 8
    assert summary["gpus"]["memory_gib"] == {"unread": "not-supported"}
    findings = json.loads((tmp_path / "state/report.json").read_text())["findings"]
    assert {one["message"] for one in findings if one["outcome"] == "unknown"} <= {OF_A_TREE}


def test_without_that_word_in_the_profile_what_was_not_read_is_unknown(trees, tmp_path):
    summary = told(trees["InfiniBand"], tmp_path, 'schema_version: "1.5"\nname: strict\n')
    assert summary["verdict"]["single_node"] == "unknown"
    assert summary["coverage"] == "host-only.no-network"


def test_a_fault_that_the_kernel_log_has_is_told_all_the_same(trees, tmp_path):
    log = trees["RoCE"] / "dev/kmsg"
    before = log.read_text()
    log.write_text(before + XID)
    try:
        summary = told(trees["RoCE"], tmp_path)
    finally:
        log.write_text(before)
    assert summary["verdict"]["single_node"] == "not_ready"
    assert summary["reasons"][0]["id"].startswith("gpu.")
