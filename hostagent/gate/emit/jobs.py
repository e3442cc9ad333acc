"""Jobs of Kubernetes: a plain Indexed Job, the same for Kueue, and one of Volcano."""

from typing import Any

from hostagent.core.text import counted
from hostagent.gate.answer import Answer
from hostagent.gate.emit.options import EmitError, Options, is_object_name
from hostagent.gate.emit.pods import INDEX, document, environment, metadata, missing, pod_spec, refuse_room_for_two
from hostagent.gate.scheduling import FABRIC_CLASS, HOSTNAME, MULTI_NODE_READY, READY
from hostagent.gate.wording import shown

#: The Job controller puts it on each pod of a Job, since Kubernetes 1.27.
_JOB = "batch.kubernetes.io/job-name"
_QUEUE, _REQUIRED_TOPOLOGY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/podset-required-topology"
#: Where Kueue itself puts jobs that name no LocalQueue.
_DEFAULT_QUEUE = "default"
#: Volcano, pkg/controllers/job: createJobPod. The plug-in "svc" makes a service of the job's name and gives each pod its own as host name.
_VOLCANO_JOB, _VOLCANO_INDEX, _TASK = "volcano.sh/job-name", "metadata.annotations['volcano.sh/task-index']", "node"


def indexed_job(answer: Answer, options: Options) -> str:
    """A service, by which the pods find each other also before they are ready, and an Indexed Job."""
    return document(answer, [_service(options), _job(answer, options)], *missing(options))


def _service(options: Options) -> dict[str, Any]:
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {_JOB: options.name}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata(options), "spec": spec}


def _job(answer: Answer, options: Options) -> dict[str, Any]:
    nodes, name = answer.request.nodes, options.name
    env = environment(answer, f"{name}-0.{name}", INDEX)
    spec = {
        "completions": nodes,
        "parallelism": nodes,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": {"spec": {"subdomain": name, **pod_spec(answer, options, env, {_JOB: name})}},
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata(options), "spec": spec}


def kueue(answer: Answer, options: Options) -> str:
    """A ResourceFlavor of the chosen nodes' class, the Topology of all classes, and the Job, which a LocalQueue takes in. Kueue chooses
    the nodes: all of one class.
    """
    refuse_room_for_two(answer, "Kueue", "Ask for more GPUs on each of fewer nodes, or take --emit indexed-job or volcano")
    prefix, labels = _class_labels(answer)
    group = labels[f"{prefix}/{FABRIC_CLASS}"]
    topology = prefix.partition(".")[0]
    flavor = f"{topology}-{'multi' if answer.request.nodes > 1 else 'single'}-node-{group}"
    if not is_object_name(flavor):
        raise EmitError(f"found the class {shown(group)}, wanted one that can be part of an object's name", "")
    job = _job(answer, options)
    job["metadata"]["labels"] = {_QUEUE: options.queue or _DEFAULT_QUEUE}
    job["spec"] = {"suspend": True, **job["spec"]}
    template = job["spec"]["template"]
    job["spec"]["template"] = {"metadata": {"annotations": {_REQUIRED_TOPOLOGY: f"{prefix}/{FABRIC_CLASS}"}}, **template}
    levels = [{"nodeLabel": f"{prefix}/{FABRIC_CLASS}"}, {"nodeLabel": HOSTNAME}]
    objects = [
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology", "metadata": {"name": topology}, "spec": {"levels": levels}},
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ResourceFlavor",
            "metadata": {"name": flavor},
            "spec": {"nodeLabels": labels, "topologyName": topology},
        },
        _service(options),
        job,
    ]
    return document(answer, objects, f"A ClusterQueue has to name the flavor {flavor}: an administrator's task.", *missing(options))


def _class_labels(answer: Answer) -> tuple[str, dict[str, str]]:
    """The prefix of our labels, and those of the flavor: they can never change, so that its name says all of them. Raises ``EmitError``
    where the chosen nodes do not have them in common.
    """
    names = (READY, *((MULTI_NODE_READY,) if answer.request.nodes > 1 else ()), FABRIC_CLASS)
    prefix = next((key.rpartition("/")[0] for key in answer.selector if key.endswith(f"/{FABRIC_CLASS}")), "")
    if missing := [name for name in names if f"{prefix}/{name}" not in answer.selector]:
        nodes = counted(len(answer.nodes), "node")
        message = f"found no common value of the label {missing[-1]} on {nodes}, wanted one: Kueue places a job by it"
        raise EmitError(message, "Take --emit indexed-job")
    return prefix, {f"{prefix}/{name}": answer.selector[f"{prefix}/{name}"] for name in names}


def volcano(answer: Answer, options: Options) -> str:
    """A Job of Volcano that starts with all its pods or not at all, and ends with the first one that fails."""
    nodes, name = answer.request.nodes, options.name
    env = environment(answer, f"{name}-{_TASK}-0.{name}", _VOLCANO_INDEX)
    own = {_VOLCANO_JOB: name}
    spec = {
        "minAvailable": nodes,
        "schedulerName": "volcano",
        **({"queue": options.queue} if options.queue else {}),
        "plugins": {"svc": ["--publish-not-ready-addresses=true"], "env": []},
        "policies": [{"events": ["PodFailed", "PodEvicted"], "action": "AbortJob"}],
        "tasks": [{"name": _TASK, "replicas": nodes, "template": {"spec": pod_spec(answer, options, env, own)}}],
    }
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata(options), "spec": spec}
    return document(answer, [job], *missing(options))
