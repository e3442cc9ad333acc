"""Which TrainJob a cluster serves, from what its API server says. The API server is simulated: it answers one path."""

import pytest

from hostagent.core.errors import HostagentError
from hostagent.gate.backends.served import PATH, trainer_version
from hostagent.gate.emit.trainer import TRAINERS
from hostagent.kube.api import ApiError

NAME = "com.github.kubeflow.trainer.v1alpha1.TrainJob"


class Server:
    """Describes a TrainJob, or refuses."""

    def __init__(self, answer):
        self.answer = answer

    def get(self, path):
        assert path == PATH
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def described(*fields, name=NAME):
    spec = {"type": "object", "properties": {field: {"type": "array"} for field in ("runtimeRef", *fields)}}
    return {"openapi": "3.0.0", "components": {"schemas": {name: {"type": "object", "properties": {"spec": spec}}}}}


def refusal(answer, asked=""):
    with pytest.raises(HostagentError) as raised:
        trainer_version(Server(answer), asked)
    return str(raised.value)


@pytest.mark.parametrize(("version", "field"), TRAINERS.items())
def test_a_version_that_the_cluster_serves_is_taken(version, field):
    assert trainer_version(Server(described(field)), version) == version


@pytest.mark.parametrize(("field", "version"), [("podSpecOverrides", "2.0"), ("podTemplateOverrides", "2.1"), ("runtimePatches", "2.2")])
def test_without_a_version_the_first_one_with_the_served_field_is_taken(field, version):
    assert trainer_version(Server(described(field)), "") == version


@pytest.mark.parametrize(
    ("asked", "field", "wanted"),
    [("2.0", "runtimePatches", "2.2 or 2.3 or 2.4"), ("2.3", "podTemplateOverrides", "2.1"), ("2.1", "podSpecOverrides", "2.0")],
)
def test_a_version_with_another_field_is_refused_with_both(asked, field, wanted):
    text = refusal(described(field), asked)
    assert f"found --trainer {asked}, wanted {wanted}" in text
    assert field in text
    assert TRAINERS[asked] in text


def test_a_version_that_there_is_not_is_refused_before_the_cluster_is_asked():
    assert "2.9" in refusal(AssertionError("it was asked"), "2.9")


def test_a_cluster_without_trainer_is_said_to_have_none():
    assert "found no trainer.kubeflow.org/v1alpha1" in refusal(ApiError("the API server answers 404", 404))


@pytest.mark.parametrize("code", [0, 401, 403, 500])
def test_what_could_not_be_read_is_not_taken_for_a_missing_trainer(code):
    text = refusal(ApiError(f"the API server answers {code}: no", code))
    assert f"cannot read which TrainJobs the cluster serves: the API server answers {code}: no" in text
    assert "--trainer" in text


@pytest.mark.parametrize("asked", ["", "2.2"])
@pytest.mark.parametrize(
    "document",
    [
        {},
        {"components": None},
        {"components": {"schemas": []}},
        {"components": {"schemas": {NAME: None}}},
        {"components": {"schemas": {NAME: {"properties": {"spec": {"properties": ["runtimePatches"]}}}}}},
        described("runtimePatches", name="com.github.kubeflow.trainer.v1alpha1.TrainJobList"),
        described("runtimePatches", name="com.github.kubeflow.trainer.v2.TrainJob"),
        described("futureOverrides"),
    ],
    ids=["empty", "null", "a list", "no schema", "a list of fields", "a list of jobs", "another version", "an unknown field"],
)
def test_a_description_without_a_known_field_gives_no_version(document, asked):
    assert "wanted" in refusal(document, asked) or "cannot read" in refusal(document, asked)
