"""Parts of the pods of one job in every kind of document: affinity, tolerations and environment."""

from collections.abc import Iterator, Mapping
from typing import Any

from hostagent.core.text import counted
from hostagent.core.yamlfile import write_yaml
from hostagent.gate.answer import Answer
from hostagent.gate.emit.options import INTERFACE, EmitError, Options, notes
from hostagent.gate.scheduling import HOSTNAME
from hostagent.gate.wording import names_of

#: The Job controller, which Trainer's JobSet uses, too: the number of a pod among those of its Job.
INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
#: torchrun's default, and what NVIDIA TAO's clients set.
MASTER_PORT = 29500
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

#: In the place of the image, where none was given.
_IMAGE = "IMAGE"

Environment = Mapping[str, "str | Mapping[str, Any]"]


def document(answer: Answer, objects: "list[dict[str, Any]]", *remarks: str) -> str:
    """YAML: one object, or a List of several, behind a comment."""
    value: dict[str, Any] = objects[0] if len(objects) == 1 else {"apiVersion": "v1", "kind": "List", "items": objects}
    lines = [*notes(answer), *(f"# {one}" for one in (*remarks, *_on_settings(answer))), ""]
    return "\n".join(lines) + write_yaml(value)


def _on_settings(answer: Answer) -> Iterator[str]:
    """Remarks on settings of a host in a pod."""
    if answer.pin == "class" and (names := list(_settings(answer))):
        yield f"{names_of(names)}: of the chosen nodes; other nodes of their class may need other settings."
    if INTERFACE in answer.env:
        yield f"{INTERFACE} is left out: a pod without hostNetwork has other interfaces than its node."
    if answer.env.get("NCCL_NET") == "IB":
        yield "With NCCL_NET=IB each pod needs RDMA devices: ask for your cluster's resource of them, such as rdma/hca, or the job ends."


def _settings(answer: Answer) -> dict[str, str]:
    return {name: value for name, value in answer.env.items() if name != INTERFACE}


def missing(options: Options) -> tuple[str, ...]:
    """Remarks on placeholders to fill in."""
    return () if options.image else (f"Put the job's image in the place of {_IMAGE}.",)


def metadata(options: Options, **more: Any) -> dict[str, Any]:
    """Of an object in the namespace."""
    return {"name": options.name, **({"namespace": options.namespace} if options.namespace else {}), **more}


def affinity(answer: Answer, own: Mapping[str, str]) -> dict[str, Any]:
    """The nodes of the answer, one pod on each: two pods of a job may otherwise share a node that has room for both. `own`: labels that
    the pods of the job have. Raises ``EmitError`` where that cannot be said.
    """
    found = dict(node_affinity(answer))
    if answer.request.nodes > 1:
        if shared := [name for name in _named_by_field(answer) if has_room_for_two(answer, (name,))]:
            raise EmitError(
                f"found a node without the label {HOSTNAME} among {names_of(shared)}, wanted it on each: two pods could share a node",
                "Label the node, or leave it out with --exclude",
            )
        found["podAntiAffinity"] = {_REQUIRED: [{"labelSelector": {"matchLabels": dict(own)}, "topologyKey": HOSTNAME}]}
    return found


def node_affinity(answer: Answer) -> Mapping[str, Any]:
    """Raises ``EmitError`` where there is none: the job would run anywhere."""
    if not answer.affinity:
        raise EmitError(
            "found no label that the chosen nodes have in common, wanted one: nothing would hold the job on them", "Take --pin nodes"
        )
    return answer.affinity


def terms(answer: Answer) -> "list[Mapping[str, Any]]":
    """Of the required node affinity."""
    return list(node_affinity(answer)["nodeAffinity"][_REQUIRED]["nodeSelectorTerms"])


def _named_by_field(answer: Answer) -> list[str]:
    """All chosen nodes, where one of them has no label with its name."""
    return [name for term in terms(answer) for field in term.get("matchFields", ()) for name in field["values"]]


def has_room_for_two(answer: Answer, nodes: "tuple[str, ...]") -> bool:
    """Whether two pods of the job fit one of these nodes by their GPUs. A node has room where its GPUs are not known."""
    return answer.request.nodes > 1 and any(answer.gpus.get(name, 1 << 30) >= 2 * answer.request.gpus_per_node for name in nodes)


def refuse_room_for_two(answer: Answer, lacking: str, next_step: str) -> None:
    """Raises ``EmitError`` where two pods of the job fit one of its nodes; `lacking`: what cannot keep them apart."""
    if has_room_for_two(answer, answer.nodes):
        gpus = counted(answer.request.gpus_per_node, "GPU")
        message = f"found a job of {gpus} on each node, wanted more than half of a node's: {lacking} has no pod anti-affinity"
        raise EmitError(message, next_step)


def tolerations(answer: Answer) -> dict[str, Any]:
    """As a member of a pod's spec, nothing for none."""
    return {"tolerations": [dict(one) for one in answer.tolerations]} if answer.tolerations else {}


def environment(answer: Answer, master: str, index: str, *, for_torchrun: bool = True) -> Environment:
    """Of each container: NCCL's settings, then how the processes of the job find each other, as NVIDIA TAO and as torchrun name it.
    `master`: the host of the first one; `index`: a field of the pod with its number.
    """
    nodes, gpus = str(answer.request.nodes), str(answer.request.gpus_per_node)
    rank = {"valueFrom": {"fieldRef": {"fieldPath": index}}}
    for_tao: Environment = {
        "WORLD_SIZE": nodes,
        "NUM_GPU_PER_NODE": gpus,
        "NNODES": nodes,
        "NPROC_PER_NODE": gpus,
        "NODE_RANK": rank,
        "MASTER_ADDR": master,
        "MASTER_PORT": str(MASTER_PORT),
    }
    torchrun: Environment = {
        "PET_NNODES": nodes,
        "PET_NPROC_PER_NODE": gpus,
        "PET_NODE_RANK": rank,
        "PET_MASTER_ADDR": master,
        "PET_MASTER_PORT": str(MASTER_PORT),
    }
    # a kubelet takes $(NAME) in a value for that variable: $$ is a dollar
    settings = {name: value.replace("$", "$$") for name, value in _settings(answer).items()}
    return {**settings, **for_tao, **(torchrun if for_torchrun else {})}


def listed(env: Environment) -> list[dict[str, Any]]:
    """As a container has it."""
    return [{"name": name, **({"value": value} if isinstance(value, str) else value)} for name, value in env.items()]


def gpu_limit(answer: Answer) -> dict[str, Any]:
    """Resources of one pod."""
    return {"limits": {"nvidia.com/gpu": str(answer.request.gpus_per_node)}}


def container(answer: Answer, options: Options, env: Environment) -> dict[str, Any]:
    """With room in /dev/shm, of which a container has 64 MiB otherwise."""
    return {
        "name": "job",
        "image": options.image or _IMAGE,
        **({"command": list(options.command)} if options.command else {}),
        "env": listed(env),
        "resources": gpu_limit(answer),
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108  of the container
    }


def pod_spec(answer: Answer, options: Options, env: Environment, own: Mapping[str, str]) -> dict[str, Any]:
    """Of a pod that runs once; `own`: labels of the job's pods."""
    return {
        "restartPolicy": "Never",
        "affinity": affinity(answer, own),
        **tolerations(answer),
        "containers": [container(answer, options, env)],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }
