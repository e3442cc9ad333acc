"""Which taints belong to a rule of node-readiness-controller."""

import pytest

from hostagent.controller.rules import parse_rules

KEY = "readiness.k8s.io/hostagent-not-ready"


def rule(*, selector=None, metadata=None, effect="NoSchedule", key=KEY, **spec):
    body = {"taint": {"key": key, "effect": effect}, "nodeSelector": selector or {}, "enforcementMode": "continuous", **spec}
    return {"metadata": {"name": "r", **(metadata or {})}, "spec": body}


def expression(operator, *values):
    return {"matchExpressions": [{"key": "zone", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("item", "owns"),
    [
        (rule(), True),
        (rule(enforcementMode=""), True),
        (rule(enforcementMode=None), True),
        (rule(enforcementMode="bootstrap-only"), False),
        (rule(dryRun=True), False),
        (rule(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), False),
        (rule(effect="NoExecute"), False),
        (rule(key="readiness.k8s.io/other"), False),
        (rule(selector={"matchLabels": {"zone": "a"}}), True),
        (rule(selector={"matchLabels": {"zone": "b"}}), False),
        (rule(selector=expression("In", "a", "b")), True),
        (rule(selector=expression("NotIn", "a")), False),
        (rule(selector=expression("Exists")), True),
        (rule(selector=expression("DoesNotExist")), False),
    ],
)
def test_owner(item, owns):
    assert bool(parse_rules([item]).owner(KEY, {"zone": "a"})) == owns


@pytest.mark.parametrize("item", [{}, {"metadata": {"name": "r"}}, rule(taint={}), rule(selector=expression("Gt", "1"))])
def test_a_rule_that_cannot_be_read(item):
    with pytest.raises(ValueError, match="another form"):
        parse_rules([item])


def test_a_rule_that_ends_is_known_even_in_dry_run():
    assert parse_rules([rule(dryRun=True, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})]).is_ending
