"""The host has libraries of NCCL of different versions: ranks that load different ones do not work together.

A system's own library next to those of Python environments is common, and no fault as long as all ranks of a job load the same. What
LD_LIBRARY_PATH leads to is loaded instead of the library that PyTorch brings, which was tested with it.
"""

from hostagent.check import Findings, Step, check, need, skip, warn
from hostagent.facts.nccl import Nccl, NcclLibrary

from ._job import job

_LD_PATH = "LD_LIBRARY_PATH"


@check(
    title="All libraries of NCCL have one version",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("versions",),
    headline="The host has several versions of NCCL: {found}",
    remedy=(Step("configure", "Give all ranks of a job one NCCL: one image or one Python environment for all hosts."),),
    references=("NCCL documentation, troubleshooting",),
    confirm=("ldconfig -p  # libnccl", "find / -xdev -name 'libnccl.so*'"),
)
def versions(nccl: Nccl) -> Findings:
    job(nccl)
    libraries = need(nccl.libraries)
    if not libraries:
        skip("the host has no library of NCCL")
    found = dict.fromkeys(need(one.version) for one in libraries)
    if len(found) == 1:
        return
    evidence = tuple(f"{one.path}: {need(one.version)}" for one in libraries)
    hidden = _hidden(libraries)
    listed = ", ".join(found)
    if hidden is not None:
        first, version = libraries[0], need(hidden.version)
        text = f"{_LD_PATH} leads to NCCL {need(first.version)} ({first.path}), which is loaded instead of {version} ({hidden.path})"
        headline = f"LD_LIBRARY_PATH hides the NCCL that Python brings: {need(first.version)} instead of {version}"
        steps = (Step("configure", f"Take NCCL's directory out of {_LD_PATH} of jobs that run in Python."),)
        wanted = "one version"
        yield warn(text, code="hidden", found=listed, wanted=wanted, evidence=evidence, headline=headline, remedy=steps)
    else:
        yield warn(f"NCCL is there as {listed}", code="several", found=listed, wanted="one version", evidence=evidence, at_most="info")


def _hidden(libraries: tuple[NcclLibrary, ...]) -> "NcclLibrary | None":
    """One of Python's that another one hides."""
    first = libraries[0]
    if first.place != _LD_PATH:
        return None
    return next((one for one in libraries if one.place == "python" and need(one.version) != need(first.version)), None)
