"""Options of an emitted document, and the names in it."""

import re
from collections.abc import Mapping

from hostagent.core.errors import HostagentError
from hostagent.core.frozen import frozen
from hostagent.gate.answer import Answer, Kind
from hostagent.gate.wording import instant, names_of, shown

#: Names an interface of the host.
INTERFACE = "NCCL_SOCKET_IFNAME"
#: A label of the DNS (RFC 1035), as services have to be named; and (RFC 1123), as namespaces.
_SERVICE = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
#: Names of other objects: such labels between dots.
_OBJECT = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_LONGEST_LABEL, _LONGEST_OBJECT = 63, 253


class EmitError(HostagentError):
    """The document cannot carry what the answer has, or what the submitter wants."""


@frozen
class Options:
    """Of ``--emit``; an empty text is not given. ``runtime`` and ``trainer`` are of Kubeflow Trainer: a ClusterTrainingRuntime and a
    version.
    """

    name: str = "job"
    namespace: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    queue: str = ""
    runtime: str = "torch-distributed"
    trainer: str = ""


#: The longest name of a pod, which is a label of the DNS. JobSet counts the five characters that are added to a pod's name.
_LAST_POD: Mapping[Kind, str] = {
    "indexed-job": "{name}-{last}",
    "kueue": "{name}-{last}",
    "volcano": "{name}-node-{last}",
    "trainjob": "{name}-node-0-{last}-abcde",
}


def check_names(kind: Kind, nodes: int, options: Options) -> None:
    """Raises ``EmitError`` for names that the API server refuses."""
    last_pod = _LAST_POD[kind].format(name=options.name, last=nodes - 1)
    if not _SERVICE.fullmatch(options.name):
        wanted = "small letters, digits and dashes, with a letter first"
        raise EmitError(f"found --name {shown(options.name)!r}, wanted {wanted}", "")
    if len(last_pod) > _LONGEST_LABEL:
        longest = _LONGEST_LABEL - len(last_pod) + len(options.name)
        raise EmitError(f"found --name of {len(options.name)} characters, wanted {longest} at most", f"Its last pod is {last_pod}")
    if options.namespace and not (_NAMESPACE.fullmatch(options.namespace) and len(options.namespace) <= _LONGEST_LABEL):
        wanted = f"at most {_LONGEST_LABEL} small letters, digits and dashes"
        raise EmitError(f"found --namespace {shown(options.namespace)!r}, wanted {wanted}", "")
    if options.queue and not is_object_name(options.queue):
        raise EmitError(f"found --queue {shown(options.queue)!r}, wanted the name of a queue", "")


def is_object_name(name: str) -> bool:
    """A subdomain of the DNS.

    >>> is_object_name("a-1.b"), is_object_name("A"), is_object_name("a_b")
    (True, False, False)
    """
    return len(name) <= _LONGEST_OBJECT and bool(_OBJECT.fullmatch(name))


def notes(answer: Answer) -> list[str]:
    """Notes on the document, as lines of a comment."""
    found = []
    if answer.valid_until is not None:
        found.append(f"# By hostagent gate. Its answer holds until {instant(answer.valid_until)}.")
    else:
        found.append("# By hostagent gate.")
    if answer.not_asked:
        found.append(f"# Not asked: {', '.join(answer.not_asked)}.")
    if own := sorted({name for env in answer.env_by_node.values() for name in env}):
        found.append(
            f"# Left out, because the nodes need different values: {names_of(own)}. 'hostagent gate --json' has them (env_by_node)."
        )
    return found
