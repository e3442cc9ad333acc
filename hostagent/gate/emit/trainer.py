"""Versions of Kubeflow Trainer, with the field of a TrainJob that overrides its pods."""

from collections.abc import Mapping
from typing import Literal

from hostagent.gate.emit.options import EmitError
from hostagent.gate.wording import shown

Field = Literal["podSpecOverrides", "podTemplateOverrides", "runtimePatches"]
#: Kubeflow Trainer, pkg/apis/trainer/v1alpha1/trainjob_types.go of each version. An API server that is not strict drops a field of
#: another version silently.
TRAINERS: Mapping[str, Field] = {
    "2.0": "podSpecOverrides",
    "2.1": "podTemplateOverrides",
    "2.2": "runtimePatches",
    "2.3": "runtimePatches",
    "2.4": "runtimePatches",
}
#: Its pods have a node selector alone.
WITHOUT_AFFINITY = ("2.0",)
#: Taken to be like the one before it.
UNTRIED = ("2.4",)


def field_of(version: str) -> Field:
    """Of a version as ``--trainer`` has it. Raises ``EmitError``."""
    if version in TRAINERS:
        return TRAINERS[version]
    wanted = f"one of {', '.join(TRAINERS)}"
    if not version:
        raise EmitError(f"found no --trainer and no cluster that says which version it serves, wanted {wanted}", "")
    raise EmitError(f"found --trainer {shown(version)}, wanted {wanted}", "")
