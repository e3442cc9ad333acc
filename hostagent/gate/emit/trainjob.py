"""A TrainJob of Kubeflow Trainer, as each version of its API has it."""

# Trainer 2.0 and Kueue cannot ask for one pod per node: an error where two pods of a job would fit on one.

from collections.abc import Iterator
from typing import Any

from hostagent.gate.answer import Answer
from hostagent.gate.emit.options import EmitError, Options, is_object_name
from hostagent.gate.emit.pods import (
    INDEX,
    affinity,
    document,
    environment,
    gpu_limit,
    listed,
    metadata,
    refuse_room_for_two,
    terms,
    tolerations,
)
from hostagent.gate.emit.trainer import UNTRIED, WITHOUT_AFFINITY, field_of
from hostagent.gate.wording import names_of, shown

#: The training job of a runtime, in all that Trainer ships; and the manager of overrides of its pods: Trainer keeps managers apart.
_JOB, _MANAGER = "node", "hostagent.dev/gate"
#: Labels that JobSet puts on each pod.
_JOBSET, _OF_JOBSET = "jobset.sigs.k8s.io/jobset-name", "jobset.sigs.k8s.io/replicatedjob-name"
#: Trainer itself sets these, and refuses a TrainJob that does (TorchRunReservedEnvNames).
_RESERVED = "PET_"
#: The most settings that a TrainJob may have since Trainer 2.2.
_MOST_SETTINGS = 128


def check(options: Options) -> None:
    """Raises ``EmitError`` for a version or a runtime that cannot be."""
    field_of(options.trainer)
    if not is_object_name(options.runtime):
        raise EmitError(f"found --runtime {shown(options.runtime)!r}, wanted the name of a ClusterTrainingRuntime", "")


def train_job(answer: Answer, options: Options) -> str:
    """For the version in `options`. Raises ``EmitError`` for what it cannot carry."""
    name = options.name
    field = field_of(options.trainer)
    if options.trainer in WITHOUT_AFFINITY:
        changes: list[dict[str, Any]] = [{"targetJobs": [{"name": _JOB}], "nodeSelector": _node_selector(answer), **tolerations(answer)}]
    else:
        spec = {"affinity": affinity(answer, {_JOBSET: name, _OF_JOBSET: _JOB}), **tolerations(answer)}
        changes = [_patch(spec)] if field == "runtimePatches" else [{"targetJobs": [{"name": _JOB}], "spec": spec}]
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata(options),
        "spec": {"runtimeRef": {"name": options.runtime}, "trainer": _trainer(answer, options), field: changes},
    }
    return document(answer, [job], *_remarks(answer, options))


def _remarks(answer: Answer, options: Options) -> "Iterator[str]":
    if options.trainer in UNTRIED:
        yield f"Trainer {options.trainer} was not tried: this is a TrainJob of the version before it."
    # by Kubernetes' strategic merge, which takes these lists whole
    replaced = [*(["affinity"] if options.trainer not in WITHOUT_AFFINITY else []), *(["tolerations"] if answer.tolerations else [])]
    if replaced:
        yield f"In the place of the runtime's {' and '.join(replaced)}."


def _trainer(answer: Answer, options: Options) -> dict[str, Any]:
    env = environment(answer, f"{options.name}-{_JOB}-0-0.{options.name}", INDEX, for_torchrun=False)
    if reserved := [name for name in env if name.startswith(_RESERVED)]:
        raise EmitError(f"found the settings {names_of(reserved)}, wanted none that Trainer sets", "")
    if len(env) > _MOST_SETTINGS:
        raise EmitError(f"found {len(env)} settings, wanted {_MOST_SETTINGS} at most", "")
    return {
        **({"image": options.image} if options.image else {}),
        **({"command": list(options.command)} if options.command else {}),
        "env": listed(env),
        "numNodes": answer.request.nodes,
        "resourcesPerNode": gpu_limit(answer),
        "numProcPerNode": answer.request.gpus_per_node,
    }


def _patch(spec: dict[str, Any]) -> dict[str, Any]:
    """Of a runtime, by its JobSet, Job and pod."""
    job = {"name": _JOB, "template": {"spec": {"template": {"spec": spec}}}}
    return {"manager": _MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}


def _node_selector(answer: Answer) -> dict[str, str]:
    """Trainer 2.0 has no affinity: its pods get one value of each label. Raises ``EmitError`` where the affinity says more."""
    later = "Take Trainer 2.1 or later, or --emit indexed-job"
    found, all_terms = dict[str, str](), terms(answer)
    expressions = all_terms[0].get("matchExpressions", []) if len(all_terms) == 1 and "matchFields" not in all_terms[0] else []
    wide = [one["key"] for one in expressions if len(one["values"]) != 1]
    if wide or not expressions:
        what = f"{names_of(wide)} with several values" if wide else "nodes by name"
        hint = "Take --pin class, or Trainer 2.1 or later" if answer.pin == "nodes" else later
        raise EmitError(f"found an affinity to {what}, wanted one value of each label: Trainer 2.0 has a node selector alone", hint)
    for one in expressions:
        (found[one["key"]],) = one["values"]
    refuse_room_for_two(answer, "Trainer 2.0", later)
    return found
