"""Detects the version of Kubeflow Trainer that a cluster serves, by the schema of a TrainJob, which every account may read."""

from hostagent.core.errors import HostagentError
from hostagent.gate.emit.trainer import TRAINERS, field_of
from hostagent.kube.api import NOT_FOUND, Api, ApiError
from hostagent.kube.parts import part

#: Kubernetes, "OpenAPI v3": a document for each group and version.
PATH = "/openapi/v3/apis/trainer.kubeflow.org/v1alpha1"
_CHOOSE = "Name the version with --trainer, or take --emit indexed-job"


def trainer_version(api: Api, asked: str) -> str:
    """The version to emit a TrainJob for: `asked`, or with "" the first one that has the field which the cluster serves. Raises
    ``HostagentError`` where the cluster serves none, or another field than `asked` has: its API server drops that without a word.
    """
    wanted = field_of(asked) if asked else ""
    found = _fields(api) & {*TRAINERS.values()}
    if asked and wanted in found:
        return asked
    version = next((one for one, field in TRAINERS.items() if field in found), "")
    if not version:
        raise HostagentError("found a TrainJob of no known version in the cluster, wanted Kubeflow Trainer 2", "Take --emit indexed-job")
    if asked:
        versions = " or ".join(one for one, field in TRAINERS.items() if field in found)
        raise HostagentError(f"found --trainer {asked}, wanted {versions}: the cluster has {TRAINERS[version]}, not {wanted}", "")
    return version


def _fields(api: Api) -> "set[str]":
    """Of a TrainJob's spec."""
    try:
        found = api.get(PATH)
    except ApiError as error:
        if error.code == NOT_FOUND:
            message = "found no trainer.kubeflow.org/v1alpha1 in the cluster, wanted the TrainJobs of Kubeflow Trainer"
            raise HostagentError(message, "Take --emit indexed-job") from None
        raise HostagentError(f"cannot read which TrainJobs the cluster serves: {error.message}", _CHOOSE) from None
    schemas = part(part(found, "components"), "schemas")
    for name in schemas:
        if name.endswith(".v1alpha1.TrainJob"):
            return {*part(part(part(part(schemas, name), "properties"), "spec"), "properties")}
    raise HostagentError("cannot read which TrainJobs the cluster serves: its description has none", _CHOOSE)
