"""Rebuild trees and write what they answer to ``tests/hosts``: ``python -m tests.trees.record [NAME…]``. Needs root and gcc.

A host that has no tree is the recording of a real machine: its tape stays as it is and is judged again. Read the difference of
every ``expect.yaml`` before you commit it: this writes down today's verdict, right or wrong.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import yaml

from hostagent import snapshot
from hostagent.core.vocabulary import Kind
from hostagent.engine.collect import ALL_READERS
from hostagent.engine.collection import InProcess
from hostagent.host import recording
from hostagent.host.recording import ReplayBackend, Tape
from hostagent.profiles import profile
from tests.judged import judged
from tests.trees import (
    boards,
    boots,
    clouds,
    daemons,
    fabrics,
    field,
    gpuhosts,
    gpustates,
    guests,
    hosts,
    hoststate,
    kernelwords,
    layouts,
    others,
    peers,
    placing,
    roles,
    serving,
    tao,
    workers,
    xidhosts,
)
from tests.trees.claim import Claim, claim_of
from tests.trees.staged import stage
from tests.trees.tree import NOW, Tree

HOSTS = Path(__file__).parent.parent / "hosts"
#: One key for all, so that a recording changes only with its host.
KEY = b"the recorded hosts are made up: nothing of theirs is secret"


class Recipe(NamedTuple):
    build: Callable[[Path], Tree]
    profile: str = "default"
    kind: Kind = "host-root"


RECIPES: Mapping[str, Recipe] = {
    "hgx-h100-ubuntu2404": Recipe(hosts.hgx_h100),
    "hgx-h100-userland-upgraded": Recipe(hosts.hgx_h100_userland_upgraded),
    "hgx-h100-next-kernel-without-module": Recipe(hosts.hgx_h100_next_kernel_without_module),
    "hgx-h100-gpu-off-the-bus": Recipe(hosts.hgx_h100_gpu_off_the_bus),
    "hgx-h100-fabricmanager-mismatch": Recipe(hosts.hgx_h100_fabricmanager_mismatch),
    "gpu-operator-driver-container": Recipe(others.gpu_operator_driver_container, "gpu-operator-26.3"),
    "rhel9-module-streams": Recipe(others.rhel9_module_streams),
    "debian12-runfile": Recipe(others.debian12_runfile),
    "k3s-worker": Recipe(others.k3s_worker),
    "t4-workstation-docker": Recipe(others.t4_workstation_docker),
    "gb200-nvl": Recipe(others.gb200_nvl),
    "hgx-a100": Recipe(boards.hgx_a100),
    "hgx-a100-manager-stayed": Recipe(boards.hgx_a100_manager_stayed),
    "hgx-b200": Recipe(boards.hgx_b200),
    "hgx-b200-nonfatal": Recipe(xidhosts.hgx_b200_nonfatal),
    "hgx-b200-nonfatal-then-reset": Recipe(xidhosts.hgx_b200_nonfatal_then_reset),
    "hgx-b200-nonfatal-storm": Recipe(xidhosts.hgx_b200_nonfatal_storm),
    "hgx-b200-link-fatal": Recipe(xidhosts.hgx_b200_link_fatal),
    "hgx-b200-corrected": Recipe(xidhosts.hgx_b200_corrected),
    "hgx-h100-link-corrected": Recipe(xidhosts.hgx_h100_link_corrected),
    "g5-remapped-twice": Recipe(xidhosts.g5_remapped_twice),
    "p5-vm": Recipe(boards.p5_vm),
    "p5-vm-seven-gpus": Recipe(boards.p5_vm_seven_gpus),
    "hgx-h100-three-switches": Recipe(boards.hgx_h100_three_switches),
    "hgx-h100-links-down": Recipe(boards.hgx_h100_links_down),
    "kubevirt-mixed": Recipe(gpuhosts.kubevirt_mixed),
    "kubevirt-all": Recipe(gpuhosts.kubevirt_all),
    "kubevirt-unexplained": Recipe(gpuhosts.kubevirt_unexplained),
    "workstation-display-card": Recipe(gpuhosts.workstation_display_card),
    "workstation-nouveau-has-both": Recipe(gpuhosts.workstation_nouveau_has_both),
    "dgx-spark": Recipe(gpuhosts.dgx_spark),
    "g5-manager-of-another-branch": Recipe(gpuhosts.g5_manager_of_another_branch),
    "g5-contained-error": Recipe(gpuhosts.g5_contained_error),
    "g5-uncontained-error": Recipe(gpuhosts.g5_uncontained_error),
    "t4-xid-before-reset": Recipe(gpuhosts.t4_xid_before_reset),
    "t4-xid-after-reset": Recipe(gpuhosts.t4_xid_after_reset),
    "t4-xid-cleared": Recipe(gpuhosts.t4_xid_cleared),
    "t4-log-wrapped": Recipe(gpuhosts.t4_log_wrapped),
    "t4-nouveau-boot-line": Recipe(gpuhosts.t4_nouveau_boot_line),
    "pinned-second-kernel": Recipe(boots.pinned_second_kernel),
    "pinned-first-kernel": Recipe(boots.pinned_first_kernel),
    "saved-entry-of-a-removed-kernel": Recipe(boots.saved_entry_of_a_removed_kernel),
    "saved-entry-without-module": Recipe(boots.saved_entry_without_module),
    "rhel9-bls-saved": Recipe(boots.rhel9_bls_next_entry),
    "rhel9-bls-newest": Recipe(boots.rhel9_bls_newest),
    "amazon-linux-2023": Recipe(boots.amazon_linux_2023),
    "almalinux9-weak-modules": Recipe(boots.almalinux9_weak_modules),
    "almalinux9-copied-module": Recipe(boots.almalinux9_copied_module),
    "sles15-kmp": Recipe(boots.sles15_kmp),
    "sles15-next-entry": Recipe(boots.sles15_next_entry),
    "libraries-cut-short": Recipe(boots.libraries_cut_short),
    "uvm-nodes-later": Recipe(boots.uvm_nodes_later),
    "uvm-nodes-never": Recipe(boots.uvm_nodes_never),
    "debian12-own-driver": Recipe(boots.debian12_own_driver, "any"),
    "debian12-own-driver-pinned-580": Recipe(boots.debian12_own_driver_pinned_580),
    "debian12-alternative-gone": Recipe(boots.debian12_alternative_gone, "any"),
    "debian12-image-without-kernel": Recipe(boots.debian12_image_without_kernel, kind="image"),
    **{name: Recipe(build) for name, build in (serving.RECIPES | layouts.RECIPES | fabrics.RECIPES | tao.RECIPES).items()},
    **{
        name: Recipe(build, profile_name, "image" if "-image" in name else "host-root")
        for name, (build, profile_name) in (clouds.RECIPES | guests.RECIPES | kernelwords.RECIPES).items()
    },
    **{name: Recipe(build) for name, build in daemons.RECIPES.items()},
    **{name: Recipe(build, "slurm") for name, build in fabrics.PODS.items()},
    **{name: Recipe(build, "any") for name, build in hoststate.MANAGED.items()},
    **{
        name: Recipe(build)
        for name, build in (
            placing.RECIPES | workers.RECIPES | peers.RECIPES | hoststate.RECIPES | roles.RECIPES | gpustates.RECIPES
        ).items()
    },
    "microk8s-addon": Recipe(field.microk8s_addon, "any"),
    "microk8s-without-addon": Recipe(field.microk8s_without_addon, "any"),
    "docker-snap": Recipe(field.docker_snap),
    "docker-snap-without-entry": Recipe(field.docker_snap_without_entry),
    "cri-dockerd": Recipe(field.cri_dockerd),
    "cri-dockerd-dead": Recipe(field.cri_dockerd_dead),
    "openshift-4.20": Recipe(field.openshift, "gpu-operator-26.3"),
    "openshift-4.20-driver-failed": Recipe(field.openshift_driver_failed, "gpu-operator-26.3"),
}

#: Recordings of real machines: they have no tree to say it beside.
MACHINES: Mapping[str, Claim] = {
    "no-gpu-vm": Claim(
        "gpu.present", what="a real machine: a virtual machine with Debian 12 and without a GPU", source="`tests/trees/machine.py`"
    ),
}


def claimed(name: str) -> Claim:
    """What a person says of the host."""
    return claim_of(RECIPES[name].build) if name in RECIPES else MACHINES.get(name, Claim())


def record(name: str, root: Path, *, redact: bool = True) -> Tape:
    """The tape of a host, built below `root`."""
    with stage(RECIPES[name].build(root), RECIPES[name].kind) as backend:
        return replace(snapshot.record(InProcess(backend, ALL_READERS), KEY, redact=redact), recorded_at=float(NOW))


def adopt(name: str, recorded: Tape, profile_name: str) -> dict[str, object]:
    """Replace the tape and the expectation of ``tests/hosts/<name>``; returns the expectation."""
    directory = HOSTS / name
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        made = Path(place, "adopted")
        expected = snapshot.adopt(recorded, recording.dumps(recorded), str(made), profile.load(profile_name, site_file=""))
        shutil.copyfile(made / "tape.json", directory / "tape.json")
    return _written(name, expected)


def judge(name: str) -> dict[str, object]:
    """Replace the expectation of a kept tape: what it cannot answer comes under ``not_recorded``; returns the expectation."""
    file = HOSTS / name / "expect.yaml"
    loaded = profile.load(yaml.safe_load(file.read_text())["profile"], site_file="")
    return _written(name, snapshot.expectation(judged(ReplayBackend(recording.load(str(HOSTS / name))), loaded)))


def _written(name: str, found: dict[str, object]) -> dict[str, object]:
    """``expect.yaml``: what was found, and what a person claims."""
    claim, verdict = claimed(name), ("profile", "single_node", "multi_node")
    expected = {
        **{key: found[key] for key in verdict},
        **({"first": claim.first} if claim.first else {}),
        **({"never": list(claim.never)} if claim.never else {}),
        **{key: value for key, value in found.items() if key not in (*verdict, "first", "never")},
    }
    (HOSTS / name / "expect.yaml").write_text(yaml.safe_dump(expected, sort_keys=False))
    return expected


def main(names: list[str]) -> None:
    for name in names or (*RECIPES, *sorted({path.parent.name for path in HOSTS.glob("*/tape.json")} - set(RECIPES))):
        with tempfile.TemporaryDirectory() as place:
            expected = adopt(name, record(name, Path(place, "root")), RECIPES[name].profile) if name in RECIPES else judge(name)
        size = (HOSTS / name / "tape.json").stat().st_size // 1024
        print(f"{name}: {size} KiB, single-node {expected['single_node']}, multi-node {expected['multi_node']}")  # noqa: T201
        for outcome in ("fail", "warn", "unknown", "not_recorded"):
            print(*(f"  {outcome:<7} {check_id}" for check_id in expected[outcome]), sep="\n") if expected.get(outcome) else None  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
