"""Refusals by the state of the host, before choices are made."""

import re
from collections.abc import Iterator

from hostagent.core.steps import Step
from hostagent.core.tables.platforms import OWNERS
from hostagent.core.unread import need
from hostagent.facts.gpu import Gpu
from hostagent.plan.model import Given, Refusal
from hostagent.plan.refusals.words import refusal, several

_VFIO = "vfio-pci"
#: Package names of Debian (deb-control(5)) and rpm: no option, no version, no pattern.
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._-]{0,199}")


def of_names(given: Given) -> Iterator[Refusal]:
    """A requested package name that a package manager would parse as something else."""
    renamed, docker = given.asked.renamed, given.asked.docker
    names = (renamed.driver, renamed.module, renamed.cuda, docker.package if docker else "")
    for name in names:
        if name and _PACKAGE.fullmatch(name) is None:
            step = Step("configure", "Give the name of one package, without a version.")
            yield refusal("name-invalid", "What is asked for is no name of a package", f"{name!r:.60}", "one name", step)


def of_gpus(given: Given) -> Iterator[Refusal]:
    """An image shows no GPU; a host whose profile requires none may have none. Raises ``UnreadError``."""
    if given.view.kind == "image":
        return
    gpus = need(given.view.gpus)
    there = tuple(gpu for gpu in gpus if need(gpu.on_pci))
    if not there and given.profile.gpus.required:
        steps = (
            Step("configure", "If this host is not meant to have a GPU, set 'gpus.required: false' in its profile."),
            Step("configure", "If it is, have the GPU reseated, or attached to this virtual machine."),
        )
        yield refusal("no-gpu", "This host has no NVIDIA GPU", "none on the PCI bus", "at least 1", *steps)
    elif there and all(_is_given_away(gpu) for gpu in there):
        step = Step("contact_owner", "Ask who gave the GPUs to virtual machines; they need no driver on this host.")
        found = f"{several(tuple(gpu.pci for gpu in there))} at {_VFIO}"
        yield refusal("passthrough", "Virtual machines have all GPUs of this host", found, "a GPU for this host", step)


def _is_given_away(gpu: Gpu) -> bool:
    return need(gpu.bound_to) == _VFIO


def of_runfile(given: Given) -> Iterator[Refusal]:
    """Packages would mix with files that no package manager owns. Raises ``UnreadError``."""
    if not given.asked.asks("driver") or given.profile.driver.owner in OWNERS:
        return
    if traces := need(need(given.view.driver).runfile_traces):
        steps = (
            Step("install", "Remove the .run installation first.", "nvidia-uninstall"),
            Step("rerun", "Then plan again.", "hostagent plan"),
        )
        yield refusal("runfile", "The driver comes from a .run file, which no package manager knows", traces[0], "packages", *steps)


def of_cloud_init(given: Given) -> Iterator[Refusal]:
    """It would install its own driver at the next instance. Raises ``UnreadError``."""
    if not given.asked.asks("driver") or given.profile.driver.owner in OWNERS:
        return
    if drivers := need(need(given.view.installation).cloud_init_drivers):
        steps = (Step("configure", "Take 'drivers:' out of the user data, or set 'driver.owner: provider' in the profile."),)
        yield refusal("cloud-init", "cloud-init installs the driver of this host", several(drivers), "no 'drivers:' of cloud-init", *steps)
    running = need(given.view.machine).cloud_init_running
    if given.view.kind != "image" and need(running):
        steps = (Step("rerun", "Wait until cloud-init has ended, then plan again.", "cloud-init status --wait"),)
        yield refusal("cloud-init-running", "cloud-init is still setting up this host", "running", "ended", *steps)
