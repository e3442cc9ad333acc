"""The loaded module: whether it is the plan's, the processes that use it, and whether it can be exchanged."""

# nvidia-persistenced, the fabric manager and IMEX are no users of the driver: they are stopped for an exchange of the module. Not
# proved by a test: the exchange on a live kernel, which in the tests has no loadable modules.

from collections.abc import Iterator

from hostagent.core.tables.pci import is_coherent
from hostagent.core.unread import NOT_APPLICABLE, Unread, need, then
from hostagent.domains.driver.tables.releases import has_coherent_mode
from hostagent.facts.gpu import Gpu
from hostagent.facts.installation import GpuUser
from hostagent.facts.version import upstream
from hostagent.plan.driver.flavours import judged_gpus
from hostagent.plan.model import Asked, DriverChoice
from hostagent.plan.view import View

#: Programs of the driver itself that hold its device nodes, and end with it; no workload.
OWN_DAEMONS = ("nvidia-persistenced", "nv-fabricmanager", "nvidia-imex")
#: In the order in which they can be unloaded.
MODULES = ("nvidia_peermem", "nvidia_fs", "gdrdrv", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia")
_NOUVEAU = ("nouveau", "nova_core")


def users(view: View) -> "tuple[GpuUser, ...] | Unread":
    """Processes that hold the driver's device nodes, without the driver's own daemons; unread where that could not be read."""
    own = {name[:15] for name in OWN_DAEMONS}
    held = then(view.installation, lambda one: one.gpu_users)
    if isinstance(held, Unread):
        return () if held.why in NOT_APPLICABLE else held
    return tuple(one for one in held if one.program[:15] not in own)


def is_loaded(view: View) -> bool:
    """Raises ``UnreadError``."""
    driver = view.driver
    if isinstance(driver, Unread) and driver.why in NOT_APPLICABLE:
        return False
    loaded = need(driver).loaded
    return not (isinstance(loaded, Unread) and loaded.why in NOT_APPLICABLE) and need(loaded)


def must_exchange(view: View, choice: DriverChoice) -> bool:
    """Whether another module is loaded than the plan's. While its version is open, a module of the same branch may be it.

    Raises ``UnreadError``.
    """
    if view.kind == "image" or not (choice.version or choice.branch) or not is_loaded(view):
        return False
    driver = need(view.driver)
    version = need(upstream(need(driver.loaded_version)))
    if not choice.version:
        return version.partition(".")[0] != choice.branch
    other_flavour = not isinstance(driver.flavour, Unread) and driver.flavour != choice.flavour
    return version != choice.version or other_flavour or is_other_build(view)


def is_other_build(view: View) -> bool:
    """Whether the disk has another build of the module than the one that is loaded, whatever their versions. Raises ``UnreadError``."""
    kernel, loaded = need(view.kernel), need(view.driver).loaded_srcversion
    on_disk = then(kernel.at(kernel.release), lambda one: one.nvidia_srcversion)
    return not isinstance(on_disk, Unread) and not isinstance(loaded, Unread) and on_disk != loaded


def nouveau_gpus(view: View, branch: str) -> tuple[Gpu, ...]:
    """GPUs bound to nouveau instead of the driver. Raises ``UnreadError``."""
    return tuple(one for one in judged_gpus(view, branch) if not isinstance(one.bound_to, Unread) and one.bound_to in _NOUVEAU)


def is_nouveau_loaded(view: View) -> bool:
    """Raises ``UnreadError``."""
    modules = need(view.kernel).loaded_modules
    return not _is_gone(modules) and bool(set(_NOUVEAU) & set(need(modules)))


def has_uvm(view: View) -> bool:
    """Raises ``UnreadError``."""
    modules = need(view.kernel).loaded_modules
    return not _is_gone(modules) and "nvidia_uvm" in need(modules)


def wants_coherent_mode(view: View, asked: Asked, branch: str) -> bool:
    """Whether the driver has to keep the memory of coherent GPUs: where a kubelet would count it as the host's. Raises ``UnreadError``."""
    if not has_coherent_mode(branch):
        return False
    if "coherent" in asked.extras:
        return True
    gpus = judged_gpus(view, branch)
    return any(is_coherent(need(one.device_id)) for one in gpus) and _has_kubelet(view)


def _has_kubelet(view: View) -> bool:
    daemons = need(view.machine).daemons("kubelet")
    if not _is_gone(daemons) and need(daemons):
        return True
    unit = need(view.services).unit("kubelet")
    return not isinstance(unit, Unread) and unit.exists


def reboots(view: View, asked: Asked, choice: DriverChoice) -> Iterator[str]:
    """Why the driver needs a reboot to take effect. Raises ``UnreadError``."""
    if view.kind == "image" or not choice.branch:
        return
    if is_nouveau_loaded(view) and not is_for_screens(view, choice.branch):
        yield "nouveau is loaded, and holds or takes the GPUs until the host boots"
    elif must_exchange(view, choice) and not may_unload(view, asked):
        found = need(upstream(need(need(view.driver).loaded_version)))
        build = f"{found} is loaded" if found != choice.version else f"another build of {found} is loaded"
        yield f"driver {build} and in use, {choice.version or choice.branch} is loaded by the next boot"
    elif wants_coherent_mode(view, asked, choice.branch) and is_loaded(view) and not must_exchange(view, choice):
        parameters = need(view.driver).parameters
        if not isinstance(parameters, Unread) and dict(parameters).get("CoherentGPUMemoryMode", "") != "driver":
            yield "the loaded module shares its memory with the kernel until the host boots"


def may_unload(view: View, asked: Asked) -> bool:
    """Whether no process uses the module, and the request has no ``--in-use``."""
    found = users(view)
    return not asked.in_use and not isinstance(found, Unread) and not found


def may_load(view: View, asked: Asked, choice: DriverChoice) -> bool:
    """Whether the plan's module can be loaded without a reboot. Raises ``UnreadError``."""
    if view.kind == "image" or not judged_gpus(view, choice.branch):
        return False
    if is_nouveau_loaded(view) and not is_for_screens(view, choice.branch):
        return False
    return not must_exchange(view, choice) or may_unload(view, asked)


def is_for_screens(view: View, branch: str) -> bool:
    """Whether nouveau stays: it drives only display cards that are too old for the driver. Raises ``UnreadError``."""
    gpus = () if isinstance(view.gpus, Unread) else view.gpus
    held = [one for one in gpus if not isinstance(one.bound_to, Unread) and one.bound_to in _NOUVEAU]
    return bool(held) and not nouveau_gpus(view, branch)


def _is_gone(value: object) -> bool:
    return isinstance(value, Unread) and value.why in NOT_APPLICABLE
