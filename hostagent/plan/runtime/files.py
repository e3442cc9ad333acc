"""The files of a runtime that a plan writes, and reasons not to write them."""

from collections.abc import Callable, Mapping
from typing import Any

from hostagent.core.unread import Unread, need
from hostagent.domains.runtime.tables.versions import CRI_RUNTIME, GRPC_CRI
from hostagent.facts.runtime import Runtime
from hostagent.plan.model import Given, Refusal, Remove, Write
from hostagent.plan.runtime import containerd, crio, docker
from hostagent.plan.runtime.containerd import Change
from hostagent.plan.runtime.needs import Need, base_of, uses_systemd
from hostagent.plan.runtime.refused import cri_off, no_default, operators, others_drop_in, own_tool, rejected, unversioned, without_cdi
from hostagent.plan.runtime.texts import mode_of, parsed, table, text_of
from hostagent.plan.view import View

_MAINS = {"containerd": "/etc/containerd/config.toml", "docker": docker.CONFIG, "crio": "/etc/crio/crio.conf"}
_OPERATORS = "/usr/local/nvidia/toolkit/"
_OWN_TOOLS = {"microk8s": "microk8s enable nvidia", "k0s": "", "docker by snap": "snap logs docker.nvidia-container-toolkit"}
_CDI_SINCE_1 = "1.7"


def main_of(runtime: Runtime) -> str:
    """The main file that it reads, or would read."""
    files = () if isinstance(runtime.config_files, Unread) else runtime.config_files
    return next(iter(files), _MAINS[runtime.kind])


def refused(given: Given, one: Need) -> "Refusal | None":
    """Raises ``UnreadError``."""
    runtime, main = one.runtime, main_of(one.runtime)
    tool = "docker by snap" if main.startswith("/var/snap/docker/") else runtime.key
    if tool in _OWN_TOOLS:
        return own_tool(runtime, _OWN_TOOLS[tool])
    if need(runtime.state) == "rejected":
        return rejected(runtime, need(runtime.error))
    if need(runtime.state) == "cri_disabled":
        return cri_off(runtime, main)
    names = {handler.name for handler in need(runtime.handlers)}
    if one.default and one.default != "nvidia" and one.default not in names:
        return no_default(runtime, one.default)
    theirs = next((entry.binary for entry in need(runtime.nvidia_handlers) if entry.binary.startswith(_OPERATORS)), "")
    if theirs and one.handler:
        return operators(runtime, theirs)
    if runtime.kind == "docker":
        return _flag(given.view, runtime, one)
    return _of_containerd(given.view, runtime, one) if runtime.kind == "containerd" else None


def _of_containerd(view: View, runtime: Runtime, one: Need) -> "Refusal | None":
    version = need(runtime.version)
    files = need(runtime.config_files)
    if files and need(runtime.config_version) < 2:
        return unversioned(runtime, files[0])
    if one.cdi and version.startswith("1.") and not _has_cdi(version):
        return without_cdi(runtime)
    if containerd.is_2(version):
        return None
    for path in files[1:]:
        text = text_of(view, path)
        if not isinstance(text, Unread) and table(_tables(text), "plugins", GRPC_CRI):
            return others_drop_in(runtime, path, "replaces the CRI table of the main file, so that an entry there has no effect")
    return None


def _has_cdi(version: str) -> bool:
    return [int(part) for part in version.split(".")[:2] if part.isdecimal()] >= [int(part) for part in _CDI_SINCE_1.split(".")]


def _flag(view: View, runtime: Runtime, one: Need) -> "Refusal | None":
    """Refuses a setting with a flag: the daemon does not start with both."""
    unit = need(view.services).unit("docker")
    text = "" if isinstance(unit, Unread) or isinstance(unit.text, Unread) else unit.text
    if one.default and docker.DEFAULT_FLAG in text:
        return others_drop_in(runtime, "docker.service", f"gives dockerd {docker.DEFAULT_FLAG}, which the file may not say as well")
    return None


def files_of(given: Given, one: Need) -> tuple[Write | Remove, ...]:
    """Files to write and to remove. Raises ``containerd.EditError`` and ``UnreadError``."""
    kinds: dict[str, Callable[[View, Need], tuple[Write | Remove, ...]]] = {
        "containerd": _containerd, "docker": _docker, "crio": _crio,
    }  # fmt: skip
    return kinds[one.runtime.kind](given.view, one)


def _containerd(view: View, one: Need) -> tuple[Write, ...]:
    runtime, main = one.runtime, main_of(one.runtime)
    texts = [text_of(view, path) for path in need(runtime.config_files) or (main,)]
    files = tuple(_tables(text) for text in texts if not isinstance(text, Unread))
    is_2 = containerd.is_2(need(runtime.version))
    names = (GRPC_CRI, CRI_RUNTIME) if is_2 else (GRPC_CRI,)
    entry = containerd.entry_like(base_of(runtime), files, names, systemd=uses_systemd(view, runtime)) if one.handler else {}
    change = Change(entry, one.cdi, one.default)
    keys = _keys(one, f'plugins."{CRI_RUNTIME if is_2 else GRPC_CRI}".containerd.runtimes.nvidia')
    text = texts[0]
    if not is_2:
        return (_write(view, main, text, lambda old: containerd.with_entry(old, change), keys),)
    version = need(runtime.config_version) if need(runtime.config_files) else 3
    ours = Write(containerd.DROP_IN, containerd.drop_in(version, files, change), mode_of(view, containerd.DROP_IN), keys)
    read = need(runtime.config_files)
    importing = _write(view, main, text, lambda old: containerd.importing(old, main, read=read), (f"imports: {containerd.DROP_IN}",))
    is_imported = not isinstance(text, Unread) and bool(text) and importing.content == text
    return (ours,) if is_imported else (ours, importing)


def _docker(view: View, one: Need) -> tuple[Write, ...]:
    entry = {"path": containerd.PROGRAM} if one.handler else {}
    change = Change(entry, one.cdi, one.default)
    main = main_of(one.runtime)
    keys = (*(("runtimes.nvidia",) if one.handler else ()), *(("features.cdi",) if one.cdi else ()))
    keys = (*keys, *(("default-runtime",) if one.default else ()))
    return (_write(view, main, text_of(view, main), lambda old: docker.merged(old, change), keys),)


def _crio(view: View, one: Need) -> tuple[Write | Remove, ...]:
    """Also removes nvidia-ctk's file at a place that CRI-O does not read: our file has its settings."""
    runtime = one.runtime
    texts = (text_of(view, path) for path in need(runtime.config_files) if path != crio.DROP_IN)
    files = tuple(_tables(text) for text in texts if not isinstance(text, Unread))
    entry = crio.entry_like(need(runtime.default_runtime), files) if one.handler else {}
    keys = _keys(one, "crio.runtime.runtimes.nvidia")
    ours = Write(crio.DROP_IN, crio.drop_in(Change(entry, cdi=False, default=one.default)), mode_of(view, crio.DROP_IN), keys)
    return (ours, *(Remove(path) for path in need(runtime.unimported) if path in crio.MISPLACED))


def _keys(one: Need, entry: str) -> tuple[str, ...]:
    keys = (entry if one.handler else "", "enable_cdi" if one.cdi else "", f"default_runtime: {one.default}" if one.default else "")
    return tuple(key for key in keys if key)


def _write(view: View, path: str, text: "str | Unread", edit: Callable[[str], str], keys: tuple[str, ...]) -> Write:
    """The file, without a text for a snapshot, which has none to change."""
    return Write(path, "" if isinstance(text, Unread) else edit(text), mode_of(view, path), keys)


def _tables(text: str) -> Mapping[str, Any]:
    """{} for a file that the runtime's version accepts and TOML does not: the change then fails by itself."""
    try:
        return parsed(text)
    except ValueError:
        return {}
