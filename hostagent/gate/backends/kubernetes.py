"""Reads the nodes of a Kubernetes cluster in pages: those that may serve first, those that explain a refusal last."""

# Heartbeats are compared with the Date of the API server's answer: the clock of a submitter's laptop counts for nothing.
# Selectors order the reading; nodes without the labels are read before a refusal.

import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, NoReturn, TypeVar

from hostagent.core.errors import HostagentError
from hostagent.core.text import counted
from hostagent.gate.answer import Reason
from hostagent.gate.backends.kubenodes import Node, Reader
from hostagent.gate.backends.kubepods import BOUND, PodSums, PodUse, fields_of
from hostagent.gate.candidate import Candidate
from hostagent.gate.request import Request
from hostagent.gate.scheduling import COMPUTE_CAPABILITY, GPU_PRODUCT, HOSTNAME, MULTI_NODE_READY, READY
from hostagent.gate.search import Free
from hostagent.gate.tolerations import label_term
from hostagent.gate.wording import shown
from hostagent.kube.api import GONE, Api, ApiError, Listing, Page, of_pages
from hostagent.kube.labelsyntax import is_value
from hostagent.kube.nodestatus import NODES
from hostagent.kube.parts import part, text

#: Seconds that one answer may take: a server that keeps no lists in memory looks through all nodes for one page.
TIMEOUT_S = 30.0
#: Objects of one page: whole nodes have 30 kB each, pods 10 kB.
_NODES, _PODS_OF_PAGE, _SLICES = 250, 500, 500
#: Nodes that are asked for their pods one by one, and so many at once; where there are more all pods are listed.
_ONE_BY_ONE, _AT_ONCE = 64, 8
_PODS = "/api/v1/pods"
_DRA, _DRIVER = "/apis/resource.k8s.io", "gpu.nvidia.com"
#: Indexed Jobs give their pods an index as a label since then. Source: Kubernetes, "Feature gates", PodIndexLabel.
_LEAST = (1, 28)
_VERSION = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})(?:[.+-].*)?", re.DOTALL)
#: HTTP codes of a server that is overloaded, or of which a part is away for a moment; how often and how long one waits for it.
_BUSY, _TRIES, _LONGEST_WAIT_S = (429, 500, 503, 504), 4, 10.0
_FORBIDDEN = 403
_NEXT = "See --kubeconfig and --context"
_T = TypeVar("_T")


class _Right(NamedTuple):
    """A rule of RBAC, and the option that works without it."""

    group: str
    resource: str
    instead: str = ""

    @property
    def rule(self) -> str:
        return f'{{apiGroups: ["{self.group}"], resources: ["{self.resource}"], verbs: ["list"]}}'


_OF_NODES = _Right("", "nodes")
_OF_PODS = _Right("", "pods", ", or give --ignore-running")


class Kubernetes:
    """A `Cluster`. Raises ``HostagentError`` for what cannot be read, and where the cluster is too old for the request."""

    def __init__(
        self,
        make_api: Callable[[], Api],
        request: Request,
        prefix: str,
        read_all: bool,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """`make_api`: other threads get another one of it. `read_all`: nodes that the job's own selector leaves out are read, too."""
        self._make_api, self._request, self._prefix, self._pause = make_api, request, prefix, pause
        self._terms = [] if read_all else [f"{key}={value}" for key, value in map(label_term, request.node_selector)]
        self._own, self._apis = threading.local(), list[Api]()
        self._pool = ThreadPoolExecutor(_AT_ONCE)
        self._reader = Reader(request, prefix, self._dra_nodes)
        self._names = set[str]()
        self._is_read = False
        self._hosts = dict[str, str]()
        self._offered = dict[str, tuple[int, int]]()
        self._asked = 0
        self._counted: PodSums | None = None
        self._slices: Collection[str] | None = None
        self.incomplete = ""
        self.warnings = list[str]()
        if request.ignore_running:
            self.warnings.append("--ignore-running: GPUs that running pods have are counted as free")
        self.now = self._begin()

    def close(self) -> None:
        """Close its connections."""
        self._pool.shutdown()
        for one in self._apis:
            one.close()

    def pages(self) -> Iterator[Sequence[Candidate]]:
        """Each node once. A list that changed too much while it was read is read again, once."""
        for selector in self._selectors():
            yield from self._selected(selector)
        self._is_read = True

    def free(self, candidates: Sequence[Candidate]) -> Mapping[str, Free]:
        names = [one.node for one in candidates]
        self._asked += len(names)
        if self._asked > _ONE_BY_ONE and self._counted is None:
            self._counted = self._all_pods()
        if self._counted is not None:
            taken = {name: self._counted.of(name) for name in names}
        else:
            taken = dict(zip(names, self._pool.map(self._pod_use, names), strict=True))
        return {name: self._free(name, taken[name]) for name in names}

    def not_examined(self) -> int:
        """By the server's own count. Where all were to be read, one that is left has changed its labels meanwhile."""
        left = max(0, self._ask(lambda api: api.count(NODES), _OF_NODES) - len(self._names))
        if left and self._is_read and not self._terms and not self.incomplete:
            self.incomplete = f"{counted(left, 'node')} came or changed while the others were read"
        return left

    def _begin(self) -> float:
        """The cluster's clock."""
        version, now = self._ask(lambda api: (api.get("/version"), api.answered_at), None)
        found = text(version, "gitVersion")
        numbers = _VERSION.fullmatch(found)
        if not numbers:
            raise HostagentError(
                f"found version {shown(found)!r} of the API server, wanted one such as v1.31.2", "See --kubeconfig and --context"
            )
        if self._request.nodes > 1 and (int(numbers[1]), int(numbers[2])) < _LEAST:
            wanted = ".".join(map(str, _LEAST))
            message = f"found Kubernetes {shown(found)}, wanted {wanted} or later for a job of {counted(self._request.nodes, 'node')}"
            raise HostagentError(message, "Ask for one node")
        if now is None:
            raise HostagentError("found no Date in the answer of the API server, wanted its clock: it says how old a heartbeat is", "")
        return now

    def _selectors(self) -> Iterator[str]:
        """Every node is in one of them at most."""
        label = f"{self._prefix}/{READY if self._request.nodes == 1 else MULTI_NODE_READY}"
        asked = ((GPU_PRODUCT, self._request.product), (COMPUTE_CAPABILITY, self._request.compute_capability))
        narrow = [(f"{self._prefix}/{name}", value) for name, value in asked if value and is_value(value)]
        yield self._joined(f"{label}=true", *(f"{key}={value}" for key, value in narrow))
        for number, (key, value) in enumerate(narrow):
            before = [f"{other}={its}" for other, its in narrow[:number]]
            yield self._joined(f"{label}=true", *before, f"{key}!={value}")
        yield self._joined(f"!{label}")
        yield self._joined(label, f"{label}!=true")

    def _joined(self, *terms: str) -> str:
        return ",".join((*terms, *self._terms))

    def _selected(self, selector: str) -> Iterator[Sequence[Candidate]]:
        for is_last in (False, True):
            try:
                yield from self._list(Listing(NODES, _NODES, selector), _OF_NODES, self._candidates)
            except _GoneError:
                if is_last:
                    self.incomplete = f"the list of the nodes {selector} changed too much while it was read, twice"
            else:
                return

    def _candidates(self, page: Page) -> list[Candidate]:
        found = list[Candidate]()
        for item in page.items:
            name = text(part(item, "metadata"), "name")
            if not name:
                raise HostagentError("found a node without a name in the answer of the API server, wanted nodes", "")
            if name in self._names:
                continue
            self._names.add(name)
            node = self._reader.node(item)
            if node:
                found.append(self._with_cached_values(node))
        return found

    def _with_cached_values(self, node: Node) -> Candidate:
        self._offered[node.candidate.node] = node.gpus, node.pods
        if self._request.ignore_running:
            node.candidate.free_gpus = node.gpus
        name = node.candidate.node
        host = (node.candidate.labels or {}).get(HOSTNAME, "")
        if host and (first := self._hosts.setdefault(host, name)) != name:
            message = f"its label {HOSTNAME} is {shown(host)}, as that of {first}: a job's affinity cannot tell them apart"
            node.candidate.own_reasons += (Reason("Selector", message, shown(host), "a value of its own"),)
        return node.candidate

    def _list(self, listing: Listing, right: "_Right | None", take: "Callable[[Page], _T]") -> Iterator[_T]:
        """What `take` makes of each page, which is gone before the next one comes."""
        return of_pages(lambda following: self._ask(lambda api: api.page(listing, following), right), take)

    def _ask(self, call: "Callable[[Api], _T]", right: "_Right | None") -> _T:
        """By the connection of this thread; again where the server is busy."""
        if not hasattr(self._own, "api"):
            self._own.api = self._apis[0].another() if self._apis else self._make_api()
            self._apis.append(self._own.api)
        for number in range(_TRIES):
            try:
                return call(self._own.api)
            except ApiError as error:
                if error.code not in _BUSY or number == _TRIES - 1:
                    _refuse(error, right)
                self._pause(min(error.retry_after_s or 0.5 * 2**number, _LONGEST_WAIT_S))
        raise AssertionError

    def _pod_use(self, node: str) -> PodUse:
        counted = PodSums()
        self._count(counted, fields_of(node))
        return counted.of(node)

    def _count(self, counted: PodSums, fields: str) -> None:
        for _ in self._list(Listing(_PODS, _PODS_OF_PAGE, fields=fields), _OF_PODS, lambda page: counted.add(page.items)):
            pass

    def _all_pods(self) -> PodSums:
        for is_last in (False, True):
            counted = PodSums()
            try:
                self._count(counted, BOUND)
            except _GoneError:
                if is_last:
                    raise
            else:
                return counted
        raise AssertionError

    def _free(self, name: str, taken: PodUse) -> Free:
        gpus, pods = self._offered[name]
        if taken.pods < pods:
            return Free(gpus - taken.gpus)
        message = f"it has {counted(taken.pods, 'pod')} and takes {pods}"
        return Free(gpus - taken.gpus, (Reason("NoFreePods", message, str(pods - taken.pods), "1"),))

    def _dra_nodes(self) -> Collection[str]:
        """Nodes with ResourceSlices of GPUs; none where the server has no such kind, or does not show them."""
        if self._slices is None:
            self._slices = set[str]()
            try:
                version = text(part(self._ask(lambda api: api.get(_DRA), None), "preferredVersion"), "version")
                listing, right = Listing(f"{_DRA}/{version}/resourceslices", _SLICES), _Right("resource.k8s.io", "resourceslices")
                for names in self._list(listing, right, lambda page: list(_nodes_of(page.items))):
                    self._slices.update(names)
            except HostagentError as error:
                if not _is_absent(error):
                    self.warnings.append(f"whether GPUs are handed out by Dynamic Resource Allocation was not read: {error.message}")
        return self._slices


class _ReadError(HostagentError):
    """Of a request; ``code``: HTTP's."""

    def __init__(self, message: str, next_step: str, code: int) -> None:
        super().__init__(message, next_step)
        self.code = code


class _GoneError(_ReadError):
    """The server has forgotten the list that was read in pages."""


def _refuse(error: ApiError, right: "_Right | None") -> NoReturn:
    if error.code == GONE:
        raise _GoneError(f"a list changed too much while it was read: {error.message}", "Ask again", error.code) from None
    if error.code == _FORBIDDEN and right:
        message = f"this account may not list {right.resource}: {error.message}"
        raise _ReadError(
            message, f"Have this rule added to a ClusterRole of the account: {right.rule}{right.instead}", error.code
        ) from None
    raise _ReadError(error.message, _NEXT, error.code) from None


def _is_absent(error: HostagentError) -> bool:
    return isinstance(error, _ReadError) and error.code == 404


def _nodes_of(slices: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Of the slices of GPUs; before v1alpha3 the fields were the object's own."""
    for one in slices:
        spec = part(one, "spec") or one
        if _DRIVER in (text(spec, "driver"), text(spec, "driverName")):
            yield text(spec, "nodeName")
