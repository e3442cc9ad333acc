"""Runs of this machine's tools, as the script runs them, and the parsing of their output."""

# All tools start at once before the pass, five seconds, 4 MiB; never with --from, --root or --host-root. Variables go to sudo as
# arguments, without a shell.

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hostagent.core.unread import Unread
from hostagent.facts.version import upstream
from hostagent.setup.request import Request
from hostagent.setup.tool_output import Answered, Tools

#: Name and allocatable GPUs of each node, a line each.
_NODES = r'jsonpath={range .items[*]}{.metadata.name}{"\t"}{.status.allocatable.nvidia\.com/gpu}{"\n"}{end}'
_RELEASE = re.compile(r"release ([0-9]+(?:\.[0-9]+)*)")
_DOTTED = re.compile(r"(?<![0-9.])[0-9]+(?:\.[0-9]+)+\S*")
_DRIVER = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_TOOLKIT, _RUNTIME, _RESOURCE = "nvidia-container-toolkit", "nvidia", "nvidia.com/gpu"
#: Digits of a number of GPUs.
_MAX_DIGITS = 9
#: Characters of a tool's error message.
_MAX_COMPLAINT = 160
#: Exit code of dpkg-query(1) and rpm(8) where there is no such package.
_NO_PACKAGE = 1
_SAID_NOTHING = "it printed no version"
#: Values of ``${db:Status-Status}`` (dpkg-query(1)) of a package that is missing or not whole.
_GONE = re.compile(r"(?:not-installed|config-files|half-installed|unpacked|half-configured)\b")


#: A home where nothing can be created. Debian's rpm creates ~/.rpmdb for a query, and kubectl ~/.kube/cache.
_NOWHERE = "/dev/null"


class Ask(NamedTuple):
    """One run of a tool. `places`: paths to look at first, in order, before the caller's PATH."""

    tool: str
    arguments: tuple[str, ...]
    places: tuple[str, ...] = ()
    only_places: bool = False
    as_root_too: bool = False  # if it fails, run it again by sudo, if that needs no password
    variables: tuple[tuple[str, str], ...] = ()  # replaces the caller's, so that it creates nothing there


class ToolOutput(NamedTuple):
    """Result of one run: `path` is "" where the tool was not found, `answer` exit_code, stdout and stderr, or why there is none."""

    path: str
    answer: "Mapping[str, Any] | Unread"


def asks(request: Request) -> dict[str, Ask]:
    """The runs for the lines of `request`, by name; all can run at once."""
    exact = request.generation == "A"
    found = {
        "gpus": Ask("nvidia-smi", ("-L",)),
        "driver": Ask("nvidia-smi", ("--query-gpu=driver_version", "--format=csv,noheader")),
        "cuda": Ask("nvcc", ("--version",), _compilers(request), only_places=exact),
        "dpkg": Ask("dpkg-query", ("-W", "-f=${Version}", _TOOLKIT)),
        "dpkg-state": Ask("dpkg-query", ("-W", "-f=${db:Status-Status}", _TOOLKIT)),  # a package that was removed has a version, too
        "rpm": Ask("rpm", ("-q", "--queryformat", "%{VERSION}", _TOOLKIT), variables=(("HOME", _NOWHERE),)),
        "ctk": Ask("nvidia-ctk", ("--version",)),
    }
    if request.wants_docker:
        found["docker"] = Ask("docker", ("info", "--format", "{{json .Runtimes}}"), as_root_too=True)
    else:
        found["kubernetes"] = Ask("kubectl", ("get", "nodes", "-o", _NODES), variables=(("KUBECACHEDIR", _NOWHERE),))
    return found


def _compilers(request: Request) -> tuple[str, ...]:
    """7.0 looks at its own path alone."""
    own = f"{request.cuda_path}/bin/nvcc"
    return (own,) if request.generation == "A" else (own, "/usr/local/cuda/bin/nvcc")


def answered(runs: Mapping[str, ToolOutput], names: Iterable[str] = ()) -> Tools:
    """The parsed results of `asks`. `names`: possible names of this machine as a Kubernetes node, the likeliest first."""
    if not runs:
        return Tools()
    docker, kubernetes = runs.get("docker"), runs.get("kubernetes")
    return Tools(
        driver=_driver(runs["gpus"], runs["driver"]),
        cuda=_one("nvcc", runs["cuda"], _release),
        toolkit=(
            _installed("dpkg-query", runs["dpkg"], runs["dpkg-state"]),
            _installed("rpm", runs["rpm"]),
            _one("nvidia-ctk", runs["ctk"], _spoken),
        ),
        docker=_docker(docker) if docker else None,
        kubernetes=_kubernetes(kubernetes, tuple(names)) if kubernetes else None,
    )


def _driver(listed: ToolOutput, queried: ToolOutput) -> Answered:
    """Versions of every GPU that answers. One without a version, like ``[N/A]``, is named; where the list fails no GPU is visible."""
    gpus = [line.partition(":")[0] for line in _output(listed).splitlines() if line.startswith("GPU ")]
    failed = _problem(queried)
    lines = [] if failed else [line.strip() for line in _output(queried).splitlines() if line.strip()]
    versions = tuple(line for line in lines if _DRIVER.fullmatch(line))
    silent = tuple(_named(gpus, number) for number, line in enumerate(lines) if line not in versions)
    if len(lines) < len(gpus):
        silent += (f"{len(gpus) - len(lines)} of {len(gpus)} GPUs",)
    invisible = _problem(listed)
    problem = invisible or failed or ("" if versions else f"it printed {lines[0]!r:.60} for a version" if lines else _SAID_NOTHING)
    return Answered("nvidia-smi", listed.path, versions, problem, 0 if invisible else len(gpus) or len(lines), silent)


def _named(gpus: Sequence[str], number: int) -> str:
    return gpus[number] if number < len(gpus) else f"GPU {number}"


def _one(tool: str, run: ToolOutput, parsed: Any) -> Answered:
    problem = _problem(run)
    version = "" if problem else parsed(_output(run))
    return Answered(tool, run.path, (version,) if version else (), problem or ("" if version else _SAID_NOTHING))


def _installed(tool: str, run: ToolOutput, state: "ToolOutput | None" = None) -> Answered:
    """The answer of a package manager: a missing package is an answer, too."""
    is_gone = state is not None and bool(_GONE.match(_output(state)))
    if is_gone or (not isinstance(run.answer, Unread) and run.answer["exit_code"] == _NO_PACKAGE):
        return Answered(tool, run.path)
    return _one(tool, run, _package)


def _release(text: str) -> str:
    """The release in the compiler's output.

    >>> _release("Cuda compilation tools, release 13.0, V13.0.88")
    '13.0'
    """
    found = _RELEASE.search(text)
    return found[1] if found else ""


def _package(text: str) -> str:
    """The version in a package manager's first line, or "".

    >>> _package("1.19.0-1"), _package("2:1.19.0~rc.1-1"), _package("package nvidia-container-toolkit is not installed")
    ('1.19.0', '1.19.0~rc.1', '')
    """
    return "" if text.startswith("package ") else _spoken(text)


def _spoken(text: str) -> str:
    """The first version of the first line.

    >>> _spoken("NVIDIA Container Toolkit CLI version 1.19.0-rc.1")
    '1.19.0~rc.1'
    """
    found = _DOTTED.search(next(iter(text.strip().split("\n")), ""))
    version = upstream(found[0]) if found else Unread("absent", "")
    return "" if isinstance(version, Unread) else version


def _docker(run: ToolOutput) -> Answered:
    """A client that reaches no daemon prints null, and may exit 0 (26 does, 28 does not)."""
    problem = _problem(run)
    try:
        runtimes = {} if problem else json.loads(_output(run))
    except (ValueError, RecursionError):
        runtimes, problem = {}, "it printed no list of runtimes"
    if runtimes is None:
        problem = f"it reached no daemon{_complaint(run)}"
    names = runtimes if isinstance(runtimes, dict) else {}
    return Answered("docker", run.path, (_RUNTIME,) if _RUNTIME in names else (), problem)


def _kubernetes(run: ToolOutput, names: tuple[str, ...]) -> Answered:
    """Allocatable GPUs of this node; of all nodes where none has a name of this machine."""
    nodes = _nodes(_output(run))
    problem = _problem(run)
    ours = next((name for name in names if name in nodes), "")
    gpus = nodes[ours] if ours else sum(nodes.values())
    return Answered("kubectl", run.path, (ours,) if ours else (), problem, 0 if problem else gpus)


def _nodes(text: str) -> dict[str, int]:
    r"""GPUs by node name; a bare number belongs to a node without a name.

    >>> _nodes("a\t0\nb\t8\nc\t\n")
    {'a': 0, 'b': 8, 'c': 0}
    """
    if text.lstrip().startswith("{"):
        return _gpus_of_list(text)
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines()):
        name, _, count = line.rpartition("\t")
        found[name.strip() or f"\0{number}"] = _count(count.strip())
    return found


def _gpus_of_list(text: str) -> dict[str, int]:
    """GPUs from a kubectl that ignores the format and prints the list.

    >>> _gpus_of_list('{"items": [{"metadata": {"name": "a"}, "status": {"allocatable": {"nvidia.com/gpu": "8"}}}]}')
    {'a': 8}
    """
    try:
        nodes = json.loads(text)["items"]
        return {str(one["metadata"]["name"]): _count(str(one["status"]["allocatable"].get(_RESOURCE, ""))) for one in nodes}
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return {}


def _count(text: str) -> int:
    """A quantity of an extended resource is a whole number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else 0


def _output(run: ToolOutput) -> str:
    return "" if isinstance(run.answer, Unread) else str(run.answer["stdout"])


def _problem(run: ToolOutput) -> str:
    """Why the run has no answer, "" where it has one."""
    if isinstance(run.answer, Unread):
        return run.answer.detail
    code = run.answer["exit_code"]
    return f"it failed with exit code {code}{_complaint(run)}" if code else ""


def _complaint(run: ToolOutput) -> str:
    """The tool's own error message: the last line."""
    lines = [] if isinstance(run.answer, Unread) else str(run.answer["stderr"]).split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {last if len(last) <= _MAX_COMPLAINT else f'{last[:_MAX_COMPLAINT]}…'}" if last else ""
