"""`place`: the results for pods that arrive one after the other."""

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.kubelet.placement.answers import Fix, Placed
from hostagent.domains.kubelet.placement.masks import TooManyError, bits
from hostagent.domains.kubelet.placement.merge import PanicError
from hostagent.domains.kubelet.placement.messages import of_admission, of_rejection
from hostagent.domains.kubelet.placement.model import Answer, Model
from hostagent.domains.kubelet.placement.node import Node
from hostagent.domains.kubelet.placement.pods import Pod, total
from hostagent.domains.kubelet.placement.resolve import UnplacedError, resolved
from hostagent.domains.kubelet.placement.settings import Settings, refusal, settings

NOT_STARTING, PANIC = "KubeletNotStarting", "KubeletPanic"
_TOO_MANY = Unread("not-supported", "too many sets of NUMA nodes to look at")


def place(node: Node, pods: tuple[Pod, ...], *, fixes: bool = True) -> tuple[Placed, ...]:
    """One answer per pod, in their order; an admitted one keeps its allocations. Devices and CPUs are allocated lowest first."""
    if node.state == "absent":
        return tuple(_unknown(node, pod, Unread("absent", "this host has no kubelet")) for pod in pods)
    try:
        chosen = settings(node)
        error = _refused(chosen, node)
        model = None if error else Model(node, chosen)
    except TooManyError:
        return tuple(_unknown(node, pod, _TOO_MANY) for pod in pods)
    except UnreadError as unread:
        if node.state == "rejected":
            message = _sentence(f"the kubelet does not start: {node.error or 'its configuration is refused'}")
            return tuple(_answer(node, pod, admitted=False, reason=NOT_STARTING, message=message) for pod in pods)
        return tuple(_unknown(node, pod, unread.unread) for pod in pods)
    if model is None:
        return tuple(_not_starting(node, chosen, pod, error, fixes=fixes) for pod in pods)
    placed: list[Placed] = []
    before: list[Pod] = []
    for pod in pods:
        answer = _place(node, model, pod)
        if fixes and answer.reason:
            answer = answer._replace(fix=_fix(node, chosen, tuple(before), pod))
        if answer.admitted is True:
            before.append(resolved(node, pod))
        placed.append(answer)
        if isinstance(answer.admitted, Unread):
            rest = Unread("error", f"what {pod.label} gets is not known")
            placed += [_unknown(node, later, rest) for later in pods[len(placed) :]]
            break
    return tuple(placed)


def _refused(chosen: Settings, node: Node) -> str:
    if node.state == "rejected":
        return node.error or "its configuration is refused"
    return refusal(chosen, node)


def _not_starting(node: Node, chosen: Settings, pod: Pod, error: str, *, fixes: bool) -> Placed:
    """A fix is offered only for a rejection that the model knows."""
    fix = None
    known = refusal(chosen, node)
    if fixes and known and known in error:
        fix = _fix(node, chosen, (), pod)
    message = _sentence(f"the kubelet does not start: {error}")
    return _answer(node, pod, admitted=False, reason=NOT_STARTING, message=message, fix=fix)


def _fix(node: Node, chosen: Settings, before: tuple[Pod, ...], pod: Pod) -> Fix | None:
    from hostagent.domains.kubelet.placement.fixes import fix_of  # only a rejected pod pays for it

    try:
        return fix_of(node, chosen, before, resolved(node, pod))
    except (UnplacedError, UnreadError):
        return None


def _place(node: Node, model: Model, pod: Pod) -> Placed:
    if pod.claims:
        return _unknown(
            node, pod, Unread("not-supported", "a pod's resource claims are not read, and the topology manager sees none of their devices")
        )
    try:
        asked = resolved(node, pod)
        answer = model.admit(asked)
    except UnplacedError as unplaced:
        return _answer(node, pod, admitted=False, message=_sentence(str(unplaced)))
    except UnreadError as unread:
        return _unknown(node, pod, unread.unread)
    except TooManyError:
        return _unknown(node, pod, _TOO_MANY)
    except PanicError:
        return _answer(node, pod, admitted=False, reason=PANIC, message="The kubelet crashes when it places this pod.")
    if not answer.admitted:
        message = of_rejection(answer, model, total(asked))
        return _answer(node, pod, admitted=False, reason=answer.reason, message=_sentence(message))
    nodes, aligned = _nodes(answer), _is_aligned(model, answer, asked)
    message = of_admission(model, nodes, aligned=aligned)
    return _answer(node, pod, admitted=True, aligned=aligned, numa_nodes=nodes, message=message)


def _nodes(answer: Answer) -> tuple[int, ...]:
    """The nodes that the topology manager chose for any container."""
    mask = 0
    for _, best in answer.best:
        mask |= best.mask if best.hinted and best.mask is not None else 0
    return bits(mask)


def _is_aligned(model: Model, answer: Answer, pod: Pod) -> bool:
    """Every resource comes from one smallest set of nodes, because the policy rejects the pod otherwise."""
    if model.policy.name in ("none", "best-effort"):
        return False
    masks = {best.mask for _, best in answer.best if best.hinted}
    asked = total(pod)
    has_place = all(model.pools[name].has_topology for name in asked if name in model.pools and asked[name])
    return bool(masks) and len(masks) == 1 and has_place


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _field(node: Node, name: str) -> str | Unread:
    value = node.config if isinstance(node.config, Unread) else getattr(node.config, name)
    return value if isinstance(value, str | Unread) else str(value)


def _answer(node: Node, pod: Pod, **values: object) -> Placed:
    defaults = {"aligned": False, "numa_nodes": (), "reason": "", "message": "", "fix": None}
    policy, scope = _field(node, "topology_manager_policy"), _field(node, "topology_manager_scope")
    return Placed(shape=pod.label, policy=policy, scope=scope, **{**defaults, **values})  # type: ignore[arg-type]


def _unknown(node: Node, pod: Pod, why: Unread) -> Placed:
    return _answer(node, pod, admitted=why, aligned=why, numa_nodes=why, message=f"Cannot be told: {why.detail or why.why}.")
