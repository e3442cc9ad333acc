"""Tolerations as the API server takes them, and taints as the scheduler matches them."""

import pytest

from hostagent.gate.tolerations import label_term, shown_taint, toleration, untolerated


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu", {"key": "gpu", "operator": "Exists"}),
        ("gpu:NoExecute", {"key": "gpu", "operator": "Exists", "effect": "NoExecute"}),
        ("example.com/a.b_c=x", {"key": "example.com/a.b_c", "operator": "Equal", "value": "x"}),
        ("a=:NoSchedule", {"key": "a", "operator": "Equal", "value": "", "effect": "NoSchedule"}),
    ],
)
def test_a_toleration_is_what_its_words_say(text, expected):
    assert toleration(text) == expected


WRONG = [
    "",
    "=a",
    ":NoSchedule",
    "a:",
    "a:noschedule",
    "a=b=c",
    "a b",
    "a/b/c",
    "/a",
    "A/b",
    "a=ü",
    "a" * 64,
    "a=" + "b" * 64,
    "a:NoSchedule:x",
    "-a",
    "a\n",
]


@pytest.mark.parametrize("text", WRONG)
def test_what_the_api_server_refuses_is_refused_here(text):
    with pytest.raises(ValueError, match="KEY"):
        toleration(text)


@pytest.mark.parametrize("text", ["", "a", "=b", "a=b,c=d", "a!=b", "a=b c", "a==b"])
def test_what_is_no_label_is_no_term_of_a_selector(text):
    with pytest.raises(ValueError, match="KEY=VALUE"):
        label_term(text)


@pytest.mark.parametrize(
    ("text", "taint", "holds"),
    [
        ("a", {"key": "a", "value": "1", "effect": "NoSchedule"}, True),
        ("a:NoExecute", {"key": "a", "value": "1", "effect": "NoSchedule"}, False),
        ("a=1", {"key": "a", "value": "1", "effect": "NoExecute"}, True),
        ("a=2", {"key": "a", "value": "1", "effect": "NoSchedule"}, False),
        ("a=", {"key": "a", "effect": "NoSchedule"}, True),
        ("a=", {"key": "a", "value": "1", "effect": "NoSchedule"}, False),
        ("b", {"key": "a", "effect": "NoSchedule"}, False),
    ],
)
def test_a_taint_is_matched_by_key_value_and_effect(text, taint, holds):
    assert (not untolerated([toleration(text)], [taint])) == holds


def test_a_taint_that_only_prefers_keeps_nothing_away():
    assert untolerated([], [{"key": "a", "effect": "PreferNoSchedule"}]) == ()


def test_a_taint_is_shown_as_kubectl_writes_it():
    assert shown_taint({"key": "a", "value": "1", "effect": "NoExecute"}) == "a=1:NoExecute"
