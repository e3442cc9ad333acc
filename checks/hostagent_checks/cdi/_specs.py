"""The specifications that count on this host: those that a runtime which serves jobs reads."""

from hostagent.check import Step, Unread, need, shell, skip
from hostagent.domains.runtime.access import reads
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.cdi import Cdi, CdiSpec
from hostagent.facts.gpu import Gpu
from hostagent.facts.runtime import Runtime
from hostagent.profile import Profile


def skip_without_cdi(profile: Profile) -> None:
    """Where containers get GPUs by the handler alone, no specification matters."""
    if profile.runtime.access == "handler":
        skip("by the profile, containers get GPUs through the nvidia runtime, not through CDI")


def valid_specs(cdi: Cdi, choice: RuntimeChoice) -> tuple[CdiSpec, ...]:
    """Those that the CDI library takes and somebody reads; the check does not apply where there is none, or where none matters."""
    return read_ones(taken_specs(cdi, choice.profile), choice) or skip("no runtime that serves jobs reads the CDI specifications")


def taken_specs(cdi: Cdi, profile: Profile) -> tuple[CdiSpec, ...]:
    """Those that the CDI library takes, whoever reads them."""
    skip_without_cdi(profile)
    return tuple(spec for spec in need(cdi.specs) if not spec.error) or skip("there is no CDI specification of NVIDIA's")


def read_ones(specs: tuple[CdiSpec, ...], choice: RuntimeChoice) -> tuple[CdiSpec, ...]:
    """Those that a runtime which serves jobs reads, or its nvidia handler; all, where none serves: podman reads them, too."""
    chosen = choice.serving.runtimes
    if not chosen:
        return specs
    return tuple(spec for spec in specs if any(_may_read(one, spec.path) for one in chosen))


def _may_read(runtime: Runtime, path: str) -> bool:
    """Nobody reads anything by a configuration that is refused, or without CRI: that is told elsewhere."""
    return need(runtime.state) == "accepted" and reads(runtime, path)


def without_copy(path: str) -> tuple[Step, ...]:
    """Nothing renews what was copied to /etc/cdi; () for a specification elsewhere."""
    return (Step("configure", "Delete the copy: nothing renews it.", shell("rm {}", path)),) if path.startswith("/etc/") else ()


def others_cover(broken: CdiSpec, specs: tuple[CdiSpec, ...], gpus: tuple[Gpu, ...] | Unread, cdi: Cdi) -> bool:
    """Whether specifications that win over a broken one name every GPU. What is unread is covered by nothing."""
    if isinstance(gpus, Unread) or not gpus:
        return False
    others = [one for one in specs if not one.error and one.path != broken.path and _wins(one, broken, cdi)]
    names = {name for one in others for name in one.devices}
    return all(_names_of(gpu) & names for gpu in gpus)


def _wins(one: CdiSpec, broken: CdiSpec, cdi: Cdi) -> bool:
    """Of one kind the later directory does; another kind is asked for by another name. A file that is refused names nothing."""
    if broken.error or one.kind != broken.kind:
        return True
    folders = list(dict.fromkeys(_folder(spec) for spec in need(cdi.specs)))
    return folders.index(_folder(one)) > folders.index(_folder(broken))


def _folder(spec: CdiSpec) -> str:
    return spec.path.rpartition("/")[0]


def _names_of(gpu: Gpu) -> set[str]:
    index = () if isinstance(gpu.index, Unread) else (str(gpu.index), f"gpu{gpu.index}")
    return {*index, *(() if isinstance(gpu.uuid, Unread) else (gpu.uuid,))}
