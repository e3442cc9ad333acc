"""The steps from the installed driver to the chosen one, in the order in which they are done."""

# `dkms autoinstall` may end with any code, because it fails for modules of others too, and dkms exits 0 without headers: the
# module that depmod lists for a kernel is the proof. DKMS calls an empty nvidia.ko built (its cp may fail unseen), so that
# kernel's build is forgotten first; of a cut nvidia-uvm.ko the plan knows nothing. Transaction 2 names the packages of
# transaction 1 as well: asked about alone, apt would bring another compiler for DKMS than it does later.

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.packages.commands import initramfs
from hostagent.domains.packages.tables.names import driver_part
from hostagent.domains.packages.tables.package_manager_commands import INITRAMFS_TOOLS
from hostagent.plan.driver import probes
from hostagent.plan.driver.announced import held_before, needed_space, planned, transactions, whole_set, why_packages
from hostagent.plan.driver.flavours import leaves_out_a_screen
from hostagent.plan.driver.kernels import has_headers, installed_kernel, is_damaged
from hostagent.plan.driver.loaded import has_uvm, is_for_screens, may_load, must_exchange, reboots, wants_coherent_mode
from hostagent.plan.driver.loading import load_step
from hostagent.plan.driver.package_holds import hold_step
from hostagent.plan.driver.starting import units_step
from hostagent.plan.model import DriverChoice, Given, PlanStep, Portion, Probe, Run, Undo, Write
from hostagent.plan.offers import Question
from hostagent.plan.transactions import Commands, commands
from hostagent.plan.view import View

NOUVEAU_FILE = "/etc/modprobe.d/hostagent-nouveau.conf"
OPTIONS_FILE = "/etc/modprobe.d/hostagent-nvidia.conf"
UVM_FILE = "/etc/modules-load.d/hostagent-nvidia.conf"
_COHERENT = ("NVreg_CoherentGPUMemoryMode", "driver")
#: Where DKMS and the tool for initramfs are.
_DKMS = "/usr/sbin/dkms"


class StepContext(NamedTuple):
    """Inputs of every step."""

    given: Given
    choice: DriverChoice
    commands: Commands


def steps_of(given: Given, choice: DriverChoice) -> Portion:
    """Raises ``UnreadError``. No step where the driver is not this host's to change."""
    if not choice.version and not choice.wanted:
        return Portion()
    context = StepContext(given, choice, commands(given.view, given.profile.install.lock_timeout_s))
    steps = tuple(one for one in _steps(context) if one is not None)
    open_ones = tuple(one for one in transactions(context.commands, choice, given.view) if choice.version)
    asked = tuple(Question("transaction", argv) for argv in open_ones)
    return Portion(
        steps=steps,
        questions=tuple(one for one in asked if not given.offers.has(one)),
        packages=planned(given, choice, open_ones),
        reboot=tuple(reboots(given.view, given.asked, choice)),
        space=needed_space(given, choice, open_ones),
    )


def _steps(context: StepContext) -> Iterator["PlanStep | None"]:
    yield _headers(context)
    yield _nouveau(context)
    yield _packages(context)
    yield _options(context)
    yield _modules(context)
    yield hold_step(context.given, context.choice, context.commands)
    yield units_step(context.given, context.choice)
    yield _load(context)


def _headers(context: StepContext) -> "PlanStep | None":
    choice = context.choice
    if not choice.before:
        return None
    names = ", ".join(name for name, _ in choice.before)
    kernel = need(context.given.view.kernel)
    lacking = tuple(one for one in choice.kernels if not has_headers(kernel, one))
    return PlanStep(
        "driver.headers",
        "driver",
        "packages",
        f"Install the headers of {_one_or_number(lacking)} for DKMS" if lacking else f"Install what DKMS needs: {names}",
        "DKMS builds the module for a kernel out of its headers, and skips a kernel without them in silence",
        Probe(f"{names} are installed, or each kernel has its module", lambda view: probes.headers_there(view, choice)),
        (Run(context.commands.install(choice.before)),),
        Undo("packages"),
        ("kernel.headers",),
    )


def _nouveau(context: StepContext) -> "PlanStep | None":
    view, kernels = context.given.view, context.choice.kernels
    if is_for_screens(view, context.choice.branch):
        return None
    # an old display card is left out once the driver, no longer kept off by nouveau, lists another GPU
    freed = ("driver.open_supported",) if leaves_out_a_screen(view, context.choice.branch) else ()
    return PlanStep(
        "driver.nouveau",
        "driver",
        "file",
        "Keep nouveau from being loaded",
        "nouveau and the nvidia module cannot drive the same GPU, and which of them wins is a race at each boot",
        Probe("modprobe.d or the kernel command line blacklists nouveau", lambda found: probes.nouveau_kept_off(found, kernels)),
        (Write(NOUVEAU_FILE, "blacklist nouveau\nblacklist nova_core\noptions nouveau modeset=0\n", keys=("blacklist nouveau",)),),
        Undo("restore"),
        ("kernel.nouveau_blacklisted", "kernel.nouveau_loaded", *freed),
    )


def _packages(context: StepContext) -> PlanStep:
    choice = context.choice
    version = choice.version or f"{choice.branch}.*"
    gone = f" in place of {_one_or_number(choice.removed, 'package')}" if choice.removed else ""
    return PlanStep(
        "driver.packages",
        "driver",
        "packages",
        f"Install driver {version}{gone}",
        why_packages(context.given, choice),
        Probe(f"all its packages are installed at {version}, and so are its libraries", lambda view: probes.set_there(view, choice)),
        (Run(whole_set(context.commands, choice, context.given.view)),),
        Undo("packages"),
        _OF_PACKAGES,
    )


_OF_PACKAGES = (
    *("driver.version", "driver.next_version", "driver.library_present", "driver.library_match", "driver.package_set_equal"),
    *("driver.package_state", "driver.partial_branch", "driver.gsp_firmware", "driver.security_floor", "driver.cuda_level"),
    *("driver.flavour", "driver.open_supported", "driver.rpm_scriptlet", "driver.nvml_version"),
    *("nvswitch.manager_installed", "nvswitch.manager_version", "nvswitch.library_version", "nvswitch.imex_version"),
)

_OF_MODULES = (
    *("kernel.module_present", "kernel.next_has_module", "kernel.module_vermagic", "kernel.initramfs_stale", "kernel.nouveau_initramfs"),
    *("driver.dkms_built", "driver.dkms_failed"),
)


def _options(context: StepContext) -> "PlanStep | None":
    given, choice = context.given, context.choice
    coherent = wants_coherent_mode(given.view, given.asked, choice.branch)
    uvm = _writes_uvm(context)
    if not coherent and not uvm:
        return None
    writes = [Write(OPTIONS_FILE, f"options nvidia {_COHERENT[0]}={_COHERENT[1]}\n", keys=(f"nvidia.{_COHERENT[0]}",))] if coherent else []
    writes += [Write(UVM_FILE, "nvidia-uvm\n", keys=("nvidia-uvm",))] if uvm else []
    words = [f"modprobe.d sets {_COHERENT[0]}"] if coherent else []
    words += ["nvidia-uvm is loaded, or loaded at each boot"] if uvm else []
    return PlanStep(
        "driver.options",
        "driver",
        "file",
        "Set what the driver's modules are loaded with",
        "containers need nvidia-uvm before they start" + ("; the driver keeps coherent GPU memory from the kubelet" if coherent else ""),
        Probe(
            " and ".join(words),
            lambda view: (not coherent or probes.option_set(view, *_COHERENT)) and (not uvm or probes.loads_uvm(view, UVM_FILE)),
        ),
        tuple(writes),
        Undo("restore"),
        ("driver.coherent_memory", "kernel.uvm_loaded") if coherent else ("kernel.uvm_loaded",),
    )


def _writes_uvm(context: StepContext) -> bool:
    """Whether a file has to load nvidia-uvm: on a running host if it is not loaded, in an image with a driver of this plan or of an
    unfinished run.
    """
    view = context.given.view
    if "driver.options" in context.given.asked.continued:
        return True
    try:
        if view.kind != "image" and has_uvm(view) and not probes.has_file(view, UVM_FILE):
            return False
        return context.choice.wanted or view.kind != "image" or probes.has_file(view, UVM_FILE)
    except UnreadError:
        return True


def _modules(context: StepContext) -> PlanStep:
    choice = context.choice
    return PlanStep(
        "driver.modules",
        "driver",
        "modules",
        f"Build and index the module for {_one_or_number(choice.kernels)}",
        "what a package's scripts say is no proof: each kernel must have the module, and an initramfs that is no older",
        Probe(
            f"each of {', '.join(choice.kernels)} has the {choice.flavour} module {choice.version or choice.branch} and a fresh initramfs",
            lambda view: probes.modules_there(view, choice),
        ),
        tuple(_building(context)),
        Undo("run", "the modules go with their packages", tuple(_indexing(context))),
        _OF_MODULES,
    )


def _building(context: StepContext) -> Iterator[Run]:
    choice, view = context.choice, context.given.view
    builders = [one for one in choice.packages if driver_part(one[0]) == "kernel module"]
    is_there = probes.is_done(probes.packages_there, view, replace(choice, packages=tuple(builders), removed=()))
    if builders and is_there and not probes.is_built(view, choice):
        yield Run(context.commands.reinstall(builders))
        held = tuple(sorted({name for name, _ in builders} & held_before(context.given)))
        if held and context.commands.is_apt:  # dpkg has lifted it
            yield Run(context.commands.hold(held))
    if choice.delivery == "dkms":
        for release in choice.kernels:
            yield from _forgetting(view, choice, release)
            yield Run(("dkms", "autoinstall", "-k", release), codes=(), where=_DKMS)  # it fails for modules of others, too
    yield from _indexing(context)


def _forgetting(view: View, choice: DriverChoice, release: str) -> Iterator[Run]:
    """DKMS takes a damaged module for built and does not build it again: it has to forget the build for this kernel."""
    one = installed_kernel(view, release)
    if one is None or not is_damaged(one) or isinstance(view.driver, Unread) or isinstance(view.driver.dkms, Unread):
        return
    for build in (build for build in view.driver.dkms if build.version == choice.version):
        what = ("-m", build.module, "-v", build.version)
        yield Run(("dkms", "remove", *what, "-k", release), codes=(), where=_DKMS)
        yield Run(("dkms", "add", *what), codes=(), where=_DKMS)  # with its last build it forgets the source, too


def _indexing(context: StepContext) -> Iterator[Run]:
    """modules.dep, and the initramfs where the kernel has one."""
    view = context.given.view
    for release in context.choice.kernels:
        yield Run(("depmod", "-a", release))
        command = _rebuild(view, release)
        if command and probes.has_initramfs(view, release):
            yield Run(tuple(command.split()))


def _rebuild(view: View, release: str) -> str:
    """By the installed tool; where none is known, by that of the package manager."""
    tool = "" if isinstance(view.installation, Unread) else view.installation.initramfs_tool
    known = "" if isinstance(tool, Unread) else INITRAMFS_TOOLS.get(tool, ("", ""))[0]
    return known.format(release) or initramfs(view.packages, release)


def _load(context: StepContext) -> "PlanStep | None":
    given, choice = context.given, context.choice
    if not may_load(given.view, given.asked, choice):
        return None
    return load_step(given, choice, exchange=must_exchange(given.view, choice))


def _one_or_number(things: tuple[str, ...], word: str = "kernel") -> str:
    return f"{word} {things[0]}" if len(things) == 1 else f"{len(things)} {word}s"
