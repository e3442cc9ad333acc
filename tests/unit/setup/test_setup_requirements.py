"""A model's minimums, from its ``skill_info.yaml``."""

import json

import pytest

from hostagent.setup.request import RequestError
from hostagent.setup.requirements import parse_requirements


def parsed(text):
    return parse_requirements(text.encode(), "skill_info.yaml")


def test_a_models_file_says_what_it_needs_among_much_else():
    text = """
name: cosmos-reason
images: [a, b]
runtime_requirements:
  gpu_host:
    min_driver_version: '580'
    notes: anything
  network: {}
"""
    assert parsed(text) == ("580", "", "")


@pytest.mark.parametrize(("written", "expected"), [("13.10", "13.10"), ("'13.0'", "13.0"), ("580", "580"), ("~", ""), ("", "")])
def test_a_version_is_taken_as_it_is_written(written, expected):
    assert parsed(f"runtime_requirements:\n  gpu_host:\n    min_cuda_version: {written}\n") == ("", expected, "")


@pytest.mark.parametrize(("written", "expected"), [("13.10", "13.10"), ('"13.0"', "13.0"), ("580", "580"), ("null", "")])
def test_so_it_is_in_json_with_tabs_too(written, expected):
    text = '{\n\t"runtime_requirements": {\n\t\t"gpu_host": {\n\t\t\t"min_cuda_version": ' + written + "}}}"
    assert parsed(text) == ("", expected, "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no mapping runtime_requirements"),
        ("[]", "no mapping runtime_requirements"),
        ("name: x", "no mapping runtime_requirements"),
        ("runtime_requirements: 5", "no mapping runtime_requirements"),
        ("runtime_requirements: {}", "no mapping runtime_requirements.gpu_host"),
        ("runtime_requirements: {gpu_host: []}", "no mapping runtime_requirements.gpu_host"),
        ("runtime_requirements: {gpu_host: {min_cuda_version: true}}", "min_cuda_version True"),
        ("runtime_requirements: {gpu_host: {min_cuda_version: [13]}}", "min_cuda_version"),
        ("runtime_requirements: {gpu_host: {min_cuda_version: ''}}", "min_cuda_version ''"),
        ("runtime_requirements: {gpu_host: {min_cuda: 13}}", "'min_cuda' below gpu_host"),
        ("a: [", "skill_info.yaml"),
        ('{"a": ', "skill_info.yaml"),
        ("{" * 100_000, "skill_info.yaml"),
        ("\0", "skill_info.yaml"),
    ],
)
def test_a_file_without_them_is_a_usage_error(text, message):
    with pytest.raises(RequestError) as caught:
        parsed(text)
    assert message in caught.value.message
    assert caught.value.code == 2


def test_a_minimum_that_is_written_wrong_is_no_minimum_that_is_not_there():
    with pytest.raises(RequestError, match="did you mean min_driver_version"):
        parsed(json.dumps({"runtime_requirements": {"gpu_host": {"min_driver_verison": "580"}}}))
