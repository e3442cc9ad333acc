"""The plug-in for the network is not there, does not load, or is turned off: NCCL goes on with its own networks, or ends.

NCCL_NET_PLUGIN names a file, or what stands between libnccl-net- and .so; without it NCCL looks for libnccl-net.so. A plug-in that lacks a
library does not load, and NCCL goes on without a word. Hosts with an Elastic Fabric Adapter, and with Google's TCPX networks, have no other
way than their plug-in. Libraries of CUDA and of the driver are not looked for: the job has loaded them by then.
"""

from typing import NamedTuple

from hostagent.check import Findings, Severity, Step, check, fail, need
from hostagent.domains.nccl.plugins import wanted
from hostagent.domains.nccl.tables.faults import faults
from hostagent.domains.nccl.tables.networks import IB, LOADED_BY_JOBS, SOCKET, TCPX
from hostagent.domains.network.rails import JobRails
from hostagent.facts.nccl import Nccl, NcclPlugin
from hostagent.profile import Profile

from ._job import Job, are_efa, is_in_images, is_on_path, job, ports_of, weight

_NAME = "NCCL_NET_PLUGIN"
_PATH_FAULT = "plug-in-path"
_BY_PATH = "setting"


class _Wrong(NamedTuple):
    """Why no plug-in loads."""

    code: str
    text: str
    headline: str
    steps: tuple[Step, ...]
    is_sure: bool = True  # False: a job's own LD_LIBRARY_PATH may mend it


@check(
    title="The plug-in for NCCL's network loads",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-rdma", "plug-in"),
    headline="NCCL loads no plug-in for its network",
    remedy=(Step("install", "Install the plug-in with all libraries that it needs."),),
    references=("NCCL documentation, environment variables: NCCL_NET_PLUGIN", "NVIDIA/nccl, src/plugin/plugin_open.cc"),
    confirm=("ldconfig -p  # libnccl-net", "grep NCCL_NET /etc/nccl.conf"),
)
def net_plugin(nccl: Nccl, rails: JobRails, profile: Profile) -> Findings:
    found = job(nccl)
    wrong = _wrong(found)
    if wrong is None:
        return
    is_tcpx = any(one.name.startswith(TCPX) for one in need(nccl.settings))
    has_no_other = is_tcpx or are_efa(ports_of(rails))
    if wrong.code == "none" and not has_no_other:
        return
    is_named = found.value("NCCL_NET").casefold() not in ("", IB, SOCKET)
    most: Severity | None = weight(profile) if wrong.is_sure and (has_no_other or is_named) else "warning"
    if wrong.code != "none" and is_in_images(nccl):
        most = "info"
    yield fail(
        wrong.text,
        code=wrong.code,
        found="none",
        wanted="a plug-in that loads",
        evidence=found.evidence(_NAME, "NCCL_NET"),
        headline=wrong.headline,
        remedy=wrong.steps,
        at_most=most,
    )


def _wrong(found: Job) -> "_Wrong | None":
    """None where one of the plug-ins that NCCL looks for loads."""
    value = found.value(_NAME) if _NAME in found.settings else None
    plugins = wanted(value, found.version())
    if not plugins:
        headline = "NCCL_NET_PLUGIN keeps NCCL from the plug-in that this host's network needs"
        text = f"{_NAME}={value}: NCCL loads no plug-in, and this host's network works through one alone"
        return _Wrong("none", text, headline, (found.without(_NAME),))
    problems: list[_Wrong] = []
    for files in plugins:
        problem = _of_path(found, files[0]) or _of_file(found, files, is_set=bool(value))
        if problem is None:
            return None
        problems.append(problem)
    return problems[0]


def _of_file(found: Job, files: tuple[str, ...], *, is_set: bool) -> "_Wrong | None":
    """The first one that has one of these names."""
    here = (one for one in need(found.nccl.plugins) if {one.path, *one.names} & set(files))
    plugin = next(here, None)
    return _absent(found, files[0], is_set=is_set) if plugin is None else _broken(found, plugin)


def _of_path(found: Job, name: str) -> "_Wrong | None":
    version = found.version()
    if "/" not in name or not any(one.code == _PATH_FAULT for one in faults(version)):
        return None
    text = f"NCCL {'.'.join(map(str, version))} takes names in {_NAME}, no paths: {name} does not load"
    steps = (Step("configure", "Put the plug-in's directory on LD_LIBRARY_PATH, and name the file alone."),)
    return _Wrong("path", text, "This version of NCCL takes no path in NCCL_NET_PLUGIN", steps)


def _absent(found: Job, name: str, *, is_set: bool) -> "_Wrong | None":
    if not is_set or ("/" in name and (not name.startswith("/") or name in need(found.nccl.files))):
        return None
    text = f"{_NAME} names {name}, and no such plug-in is there"
    steps = (Step("install", "Install the plug-in that NCCL_NET_PLUGIN names."), found.without(_NAME))
    return _Wrong("absent", text, f"The plug-in that NCCL_NET_PLUGIN names is not there: {name}", steps)


def _broken(found: Job, plugin: NcclPlugin) -> "_Wrong | None":
    is_found = is_on_path(plugin) or plugin.place == _BY_PATH
    if not is_found and need(found.nccl.has_environment):
        text = f"{plugin.path} lies where the loader does not look with this job's LD_LIBRARY_PATH"
        steps = (Step("configure", "Add the plug-in's directory to LD_LIBRARY_PATH, or to /etc/ld.so.conf.d."),)
        return _Wrong("not-found", text, f"The loader does not find NCCL's plug-in {plugin.path}", steps)
    missing = [one for one in need(plugin.missing) if not one.startswith(LOADED_BY_JOBS)]
    if not missing:
        return None
    text = f"{plugin.path} lacks {', '.join(missing)}"
    steps = (Step("install", "Install what the plug-in lacks, and run ldconfig."),)
    return _Wrong("libraries", text, f"NCCL's plug-in does not load: it lacks {', '.join(missing)}", steps, is_sure=is_found)
