"""The CUDA toolkit with the nvcc that the script would run: at NVIDIA_CUDA_PATH, then /usr/local/cuda, then on the caller's PATH."""

import posixpath

from hostagent.core.unread import Unread
from hostagent.facts.cuda import Cuda, CudaToolkit
from hostagent.facts.hostfacts import HostFacts
from hostagent.setup import versions
from hostagent.setup.found import PartState, differs, failed, tool_line
from hostagent.setup.request import Request
from hostagent.setup.tool_output import Answered

_PART = "CUDA Toolkit"
_DEFAULT = "/usr/local/cuda"


def cuda_toolkit(request: Request, facts: HostFacts, tool: "Answered | None") -> PartState:
    reported = versions.lowest(map(versions.read, tool.versions)) if tool else ""
    for place in _places(request):
        one = _at(facts, place)
        is_asked = tool is not None and _is_below(tool.path, place, one)
        if one is not None and one.nvcc is True and versions.read(one.version):
            return _by_host(request, one, tool if is_asked else None, reported)
        if tool is not None and is_asked:
            return _by_tool(request, tool, reported)
    if tool is not None and request.generation == "B":
        return _by_tool(request, tool, reported)
    return PartState(False, "", (), _why_none(request, facts))


def _by_host(request: Request, one: CudaToolkit, tool: "Answered | None", reported: str) -> PartState:
    """The state by the host's facts; the version as nvcc prints it, where that is enough: 13.0 of 13.0.2."""
    whole = versions.read(one.version)
    short = versions.release(whole)
    satisfied = _satisfies(request, whole)
    shown = short if _satisfies(request, short) == satisfied else whole
    warnings = failed(_PART, tool)
    if tool and reported and not versions.same(versions.release(reported), short):
        warnings = (differs(_PART, f"{short} at {one.path}", tool, reported),)
    return PartState(satisfied, shown, (), warnings)


def _by_tool(request: Request, tool: Answered, reported: str) -> PartState:
    if not reported:
        return PartState(False, "", (), failed(_PART, tool))
    return PartState(_satisfies(request, reported), reported, (tool_line(_PART, tool, reported),))


def _satisfies(request: Request, version: str) -> bool:
    wanted = request.minimums.cuda
    if request.generation == "A":
        return versions.same(versions.release(version), versions.release(wanted)) if version else False
    return versions.at_least(version, wanted)


def _places(request: Request) -> tuple[str, ...]:
    """Places to look at; for generation A only the path."""
    own = posixpath.normpath(request.cuda_path) if request.cuda_path else ""
    return tuple(dict.fromkeys(one for one in ((own,) if request.generation == "A" else (own, _DEFAULT)) if one))


def _at(facts: HostFacts, place: str) -> "CudaToolkit | None":
    cuda = facts.of(Cuda)
    if isinstance(cuda, Unread) or isinstance(cuda.toolkits, Unread):
        return None
    wanted = {place}
    if place == _DEFAULT and not isinstance(cuda.default, Unread) and cuda.default:
        wanted.add(cuda.default)
    return next((one for one in cuda.toolkits if wanted & {one.path, *one.names}), None)


def _is_below(path: str, place: str, one: "CudaToolkit | None") -> bool:
    """Whether the tool is the nvcc of that place."""
    folders = {place, *((one.path, *one.names) if one else ())}
    return posixpath.dirname(posixpath.dirname(posixpath.normpath(path))) in folders if path else False


def _why_none(request: Request, facts: HostFacts) -> tuple[str, ...]:
    """Reports "unknown", not "not installed", for unread facts."""
    cuda = facts.of(Cuda)
    gap = cuda if isinstance(cuda, Unread) else cuda.toolkits
    if isinstance(gap, Unread):
        return (f"{_PART}: not read ({gap.why}): {gap.detail}",)
    there = dict.fromkeys(one for place in _places(request) if (one := _at(facts, place)))
    gaps = ((one.path, value) for one in there for value in (one.version, one.nvcc) if isinstance(value, Unread))
    odd = (one for one in there if not isinstance(one.version, Unread) and not versions.read(one.version))
    return (
        *(f"{_PART} at {path}: not read ({value.why}): {value.detail}" for path, value in gaps),
        *(f"{_PART} at {one.path}: found {one.version!r:.40}, wanted a version" for one in odd),
    )
