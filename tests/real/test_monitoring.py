"""The overlay "monitoring" by what reads it: promtool for rules and expressions, the Prometheus operator's kinds on a real API server."""

import json
import os
import re
import subprocess

import pytest
import yaml

from hostagent.controller.counts import Counts
from tests.real.cluster import ROOT
from tests.real.conftest import need_real
from tests.real.controllerrun import sample
from tests.real.daemonrun import Daemon, eventually, port
from tests.real.manifests import DAEMONSET, kustomized

TAPE = ROOT / "tests/hosts/hgx-h100-gpu-off-the-bus/tape.json"
ALERTS = [
    "HostagentNodeNotReady",
    "HostagentNodeNotMultiNodeReady",
    "HostagentAgentSilent",
    "HostagentControllerStopped",
    "HostagentManyNodesClosed",
]
#: Minutes of the series below.
LONG = 60


def objects(folder):
    """By kind and name, as kubectl applies them."""
    return {(one["kind"], one["metadata"]["name"]): one for one in kustomized(DAEMONSET / folder)}


@pytest.fixture(scope="module")
def monitoring():
    return objects("overlays/monitoring")


@pytest.fixture(scope="module")
def rules(monitoring):
    return monitoring["PrometheusRule", "hostagent"]["spec"]


def dashboard(monitoring):
    return json.loads(monitoring["ConfigMap", "hostagent-dashboard"]["data"]["hostagent.json"])


def promtool(folder, what, document, name):
    """Exit code and text of `promtool WHAT rules`."""
    (folder / name).write_text(json.dumps(document))
    program = need_real("promtool", "bash tests/real/install_promtool.sh")
    done = subprocess.run([program, what, "rules", name], cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


class Fleet:
    """Series as Prometheus has them after the PodMonitor's relabelling; a value for each minute. Without changes all nodes are well."""

    def __init__(self, nodes, **changes):
        self.series = {}
        for number in range(1, nodes + 1):
            self._node(f"gpu-{number:02}", **{name: value.get(number) for name, value in changes.items()})

    def _node(self, node, *, ready=None, multi=None, up=None, stale=None, wrote=None, failed=None):
        """`ready`, `multi`: values by (status, reason); the others: values, "" for no such series."""
        of = f'job="hostagent",node="{node}",instance="{node}:9476"'
        self.set(f"up{{{of}}}", f"1x{LONG}" if up is None else up)
        if up is not None:
            return
        for condition, told in (("Ready", ready), ("MultiNodeReady", multi or ready)):
            for (status, reason), values in (told or {("True", "Ready"): f"1x{LONG}"}).items():
                self.set(f'hostagent_condition{{{of},condition="{condition}",status="{status}",reason="{reason}"}}', values)
        self.set(f"hostagent_agent_stale{{{of}}}", stale or f"0x{LONG}")
        wrote = f"0+60x{LONG}" if wrote is None else wrote
        self.set(f'hostagent_delivery_last_success_timestamp_seconds{{{of},sink="kubernetes"}}', wrote)
        self.set(f'hostagent_deliveries_total{{{of},sink="kubernetes",result="error"}}', failed)

    def set(self, name, values):
        if values:
            self.series[name] = values
        return self

    def controller(self, pod, settled, limits=()):
        of = f'job="hostagent-controller",pod="{pod}"'
        self.set(f"hostagent_controller_settled{{{of}}}", settled)
        for limit in ("silent", "tainted", "no-agent"):
            self.set(f'hostagent_controller_stopped{{{of},limit="{limit}"}}', f"{int(limit in limits)}x{LONG}")
        return self


def until(minute):
    """One, and then nothing."""
    return f"1x{minute} stale"


BAD, MULTI = {("False", "GpuXid"): f"1x{LONG}"}, {("False", "RdmaPortState"): f"1x{LONG}"}
CHANGING = {("False", "GpuXid"): until(5), ("False", "Flapping"): f"_x5 1x{LONG}"}
REPAIRED = {("False", "GpuXid"): until(8), ("True", "Ready"): f"_x8 1x{LONG}"}
STALE = {("Unknown", "AgentStale"): f"1x{LONG}"}
NOT_READY, NOT_MULTI, SILENT, STOPPED, MANY = ALERTS
#: What happened: series, the minute that is looked at, and by alert its labels, in that minute.
CASES = {
    "all are well": (Fleet(20).controller("a", f"1x{LONG}"), LONG, {}),
    "a node is not ready": (Fleet(20, ready={3: BAD}), 11, {NOT_READY: [{"node": "gpu-03"}]}),
    "it is not ready for nine minutes": (Fleet(20, ready={3: BAD}), 9, {}),
    "it was not ready for eight minutes": (Fleet(20, ready={3: REPAIRED}), 30, {}),
    "its reason changes meanwhile": (Fleet(20, ready={3: CHANGING}), 11, {NOT_READY: [{"node": "gpu-03"}]}),
    "a node is fit for single-node jobs alone": (Fleet(20, multi={4: MULTI}), 11, {NOT_MULTI: [{"node": "gpu-04"}]}),
    "an agent judges nothing": (Fleet(20, stale={5: f"1x{LONG}"}, ready={5: STALE}), 21, {SILENT: [{"node": "gpu-05"}]}),
    "an agent does not answer": (Fleet(20, up={5: f"0x{LONG}"}), 21, {SILENT: [{"node": "gpu-05"}]}),
    "a node boots for 19 minutes": (Fleet(20, up={5: f"0x19 1x{LONG}"}), LONG, {}),
    "no agent is scraped": (Fleet(0), 21, {SILENT: [{"job": "hostagent"}]}),
    "an agent cannot write any more": (Fleet(20, wrote={6: f"0x{LONG}"}), 37, {SILENT: [{"node": "gpu-06"}]}),
    "it could not for 34 minutes": (Fleet(20, wrote={6: f"0x{LONG}"}), 34, {}),
    "heartbeats are twelve minutes apart": (Fleet(20, wrote={6: "0x12 720x12 1440x12 2160x12 2880x12"}), LONG, {}),
    "an agent could never write": (Fleet(20, wrote={6: ""}, failed={6: f"0+1x{LONG}"}), 21, {SILENT: [{"node": "gpu-06"}]}),
    "some writes fail": (Fleet(20, failed={6: f"0+1x{LONG}"}), LONG, {}),
    "agents write to no cluster": (Fleet(2, wrote={1: "", 2: ""}), LONG, {}),
    "a limit holds": (
        Fleet(20).controller("a", f"1x{LONG}", ["silent"]).controller("b", f"0x{LONG}"),
        11,
        {STOPPED: [{"limit": "silent"}]},
    ),
    "the controller is gone": (Fleet(20).controller("a", until(10)), 21, {STOPPED: [{}]}),
    "none of two controllers leads": (Fleet(20).controller("a", f"1x5 0x{LONG}").controller("b", f"0x{LONG}"), 30, {STOPPED: [{}]}),
    "another controller takes over": (Fleet(20).controller("a", until(5)).controller("b", f"0x6 1x{LONG}"), LONG, {}),
    "three of twenty close at once": (Fleet(20, ready=dict.fromkeys((1, 2, 3), BAD)), 6, {MANY: [{}]}),
    "six of twenty close at once": (Fleet(20, ready=dict.fromkeys(range(1, 7), BAD)), 6, {MANY: [{}]}),
    "three of twenty are closed for four minutes": (Fleet(20, ready=dict.fromkeys((1, 2, 3), BAD)), 4, {}),
    "three of thirty close at once": (Fleet(30, ready=dict.fromkeys((1, 2, 3), BAD)), 6, {}),
    "two of four close at once": (Fleet(4, ready=dict.fromkeys((1, 2), BAD)), 6, {}),
}
#: By case, what its alert says: the summary, and the beginning of the description.
SAID = {
    "a node is not ready": ("gpu-03 takes no jobs", "Node gpu-03 has not been ready for 10 minutes: GpuXid. "),
    "its reason changes meanwhile": ("gpu-03 takes no jobs", "Node gpu-03 has not been ready for 10 minutes: Flapping. "),
    "a node is fit for single-node jobs alone": (
        "gpu-04 takes no jobs that span nodes",
        "Node gpu-04 is ready, but has been unfit for jobs on several nodes for 10 minutes: RdmaPortState. ",
    ),
    "an agent does not answer": ("Nothing new of the agent on gpu-05", "What the cluster knows of node gpu-05 is old: "),
    "no agent is scraped": ("No agent is scraped", "Prometheus has no target of an agent on any node."),
    "a limit holds": (
        "The controller is at its limit 'silent': unfit nodes stay open",
        "The controller closes no further node (limit 'silent'). Which nodes stay open: ",
    ),
    "the controller is gone": ("No controller is at work: unfit nodes stay open", "No controller writes. "),
    "six of twenty close at once": (
        "6 nodes are not ready at once",
        "6 nodes, more than 10 % of those with an agent, are not ready, among them "
        + " ".join(f"gpu-0{number} (GpuXid)" for number in range(1, 6))
        + ". ",
    ),
}


def unit_test(case):
    fleet, minute, firing = CASES[case]
    wanted = [
        {"alertname": name, "eval_time": f"{minute}m", "exp_alerts": [{"exp_labels": one} for one in firing.get(name, [])]}
        for name in ALERTS
    ]
    series = [{"series": name, "values": values} for name, values in fleet.series.items()]
    return {"interval": "1m", "input_series": series, "alert_rule_test": wanted}


def as_tested(rules, keep=()):
    """Without annotations but `keep`, and without the label severity: promtool compares all that an alert has."""
    return {
        "groups": [
            {
                "name": group["name"],
                "rules": [
                    {**rule, "labels": {}, "annotations": {name: rule["annotations"][name] for name in keep}} for rule in group["rules"]
                ],
            }
            for group in rules["groups"]
        ]
    }


@pytest.mark.parametrize("case", CASES)
def test_each_alert_fires_when_it_should_and_no_other(case, rules, tmp_path):
    (tmp_path / "rules.json").write_text(json.dumps(as_tested(rules)))
    document = {"rule_files": ["rules.json"], "evaluation_interval": "1m", "tests": [unit_test(case)]}
    assert promtool(tmp_path, "test", document, "test.json") == (0, "Unit Testing:  test.json\n  SUCCESS\n\n")


@pytest.mark.parametrize("case", SAID)
def test_an_alert_names_its_node_and_the_reason(case, rules, tmp_path):
    (tmp_path / "rules.json").write_text(json.dumps(as_tested(rules, ["summary", "description"])))
    document = {"rule_files": ["rules.json"], "evaluation_interval": "1m", "tests": [unit_test(case)]}
    said = promtool(tmp_path, "test", document, "test.json")[1]  # it prints what it got where that is not what it wants
    got = re.sub(r"\s*\n\s*", " ", said.partition("got:")[2])
    summary, description = SAID[case]
    assert f'summary="{summary}"' in got
    assert f'description="{description}' in got


def test_promtool_takes_the_five_rules_and_each_leads_to_its_part_of_the_page(rules, tmp_path):
    assert promtool(tmp_path, "check", rules, "rules.json") == (0, "Checking rules.json\n  SUCCESS: 5 rules found\n\n")
    listed = [rule for group in rules["groups"] for rule in group["rules"]]
    assert [rule["alert"] for rule in listed] == ALERTS
    sections = [line[3:] for line in (ROOT / "docs/alerts.md").read_text().splitlines() if line.startswith("## ")]
    assert sections == ALERTS
    for rule in listed:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description", "runbook"}
        assert rule["annotations"]["runbook"] == f"docs/alerts.md#{rule['alert'].lower()}"


def asked(monitoring, rules):
    """Every expression of the rules and the dashboard."""
    yield from (rule["expr"] for group in rules["groups"] for rule in group["rules"])
    yield from (target["expr"] for panel in dashboard(monitoring)["panels"] for target in panel["targets"])


def test_promtool_takes_every_expression_of_the_dashboard(monitoring, rules, tmp_path):
    listed = [{"record": f"a{number}", "expr": one} for number, one in enumerate(asked(monitoring, rules))]
    code, said = promtool(tmp_path, "check", {"groups": [{"name": "dashboard", "rules": listed}]}, "rules.json")
    assert (code, f"{len(listed)} rules found" in said) == (0, True), said


def test_the_dashboard_has_distinct_panels_and_takes_any_data_source(monitoring):
    found = dashboard(monitoring)
    assert {one["name"] for one in found["templating"]["list"]} == {"datasource", "node"}
    for key in ("id", "title"):
        assert len({panel[key] for panel in found["panels"]}) == len(found["panels"]) > 10
    sources = [one["datasource"]["uid"] for panel in found["panels"] for one in (panel, *panel["targets"])]
    assert set(sources) == {"${datasource}"}
    assert monitoring["ConfigMap", "hostagent-dashboard"]["metadata"]["labels"]["grafana_dashboard"] == "1"


def selected(expression):
    """What it asks for: each metric, with the labels that it selects by."""
    for name, matchers in re.findall(r"\b(up|(?:hostagent|process)_\w+)(?:\{([^}]*)\})?", expression):
        yield name, dict(re.findall(r"(\w+)(?:=~|!=|!~|=)[\"']([^\"']*)[\"']", matchers))


#: The labels that Prometheus adds: by itself, by the PodMonitor's jobLabel and relabelling.
ADDED = {"job", "node", "instance"}


def test_every_metric_and_label_that_is_asked_for_exists(monitoring, rules, tmp_path):
    closed = {"clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{port()}"}}]}
    user = {"users": [{"name": "u", "user": {"token": "t"}}], "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}
    (tmp_path / "kubeconfig").write_text(json.dumps({**closed, **user, "current-context": "x"}))
    (tmp_path / "kubeconfig").chmod(0o600)
    with Daemon(tmp_path, "--from", TAPE, "--kubeconfig", tmp_path / "kubeconfig", "--textfile", tmp_path / "host.prom") as daemon:
        eventually(lambda: daemon.answers("/livez"))
        eventually(lambda: sample(daemon.get("/metrics").text, "hostagent_deliveries_total", sink="kubernetes", result="error"))
        eventually(lambda: sample(daemon.get("/metrics").text, "hostagent_delivery_last_success_timestamp_seconds", sink="textfile"))
        eventually(lambda: sample(daemon.get("/metrics").text, "hostagent_condition", condition="Ready", status="False"))
        text = daemon.get("/metrics").text
    counts = Counts()
    counts.taints["add"] = counts.closings["close"] = 1
    exposed = {"hostagent": text, "hostagent-controller": counts.metrics()}
    for expression in asked(monitoring, rules):
        for name, labels in selected(expression):
            job = labels["job"]
            lines = [line for line in exposed[job].splitlines() if re.match(rf"{name}[ {{]", line)]
            assert name == "up" or lines, (job, name)
            for label in labels.keys() - ADDED:
                assert all(f'{label}="' in line for line in lines), (name, label)
        for text_of in re.findall(r"\bby \(([^)]*)\)", expression):
            known = set(re.findall(r'(\w+)="', "".join(exposed.values()))) | ADDED
            assert set(re.split(r",\s*", text_of)) <= known, text_of


def test_the_pod_monitor_and_the_network_policy_reach_the_pods_of_the_agent_and_of_the_controller(monitoring):
    pods = [objects("agent")["DaemonSet", "hostagent"], objects("overlays/controller")["Deployment", "hostagent-controller"]]
    monitor, policy = (monitoring[kind]["spec"] for kind in (("PodMonitor", "hostagent"), ("NetworkPolicy", "hostagent-monitoring")))
    (expression,) = monitor["selector"]["matchExpressions"]
    assert policy["podSelector"] == monitor["selector"]
    listened = []
    for one in pods:
        template = one["spec"]["template"]
        assert template["metadata"]["labels"][expression["key"]] in expression["values"]
        (container,) = template["spec"]["containers"]
        (found,) = [item["containerPort"] for item in container["ports"] if item["name"] == monitor["podMetricsEndpoints"][0]["port"]]
        assert any(argument.endswith(f":{found}") for argument in container["args"])
        listened.append({"protocol": "TCP", "port": found})
    assert policy["ingress"][0]["ports"] == listened


def test_the_lines_of_the_overlays_comment_fit_it_to_another_prometheus(tmp_path):
    overlay = DAEMONSET / "overlays/monitoring"
    lines = re.findall(r"^#   (.*)$", (overlay / "kustomization.yaml").read_text(), re.MULTILINE)
    added = "\n".join(lines).replace("daemonset/overlays/monitoring", os.path.relpath(overlay, tmp_path.resolve()))
    (tmp_path / "kustomization.yaml").write_text(added)
    found = {one["kind"]: one for one in kustomized(tmp_path)}
    assert {found[kind]["metadata"]["labels"]["release"] for kind in ("PodMonitor", "PrometheusRule")} == {"kube-prometheus-stack"}
    (rule,) = found["NetworkPolicy"]["spec"]["ingress"]
    assert rule["from"] == [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "prometheus"}}}]


def test_the_api_server_takes_the_objects_strictly_with_the_kinds_of_the_prometheus_operator(monitoring, cluster):
    kinds = need_real("cluster-tools/prometheus-operator", "bash tests/real/install_cluster_tools.sh")
    plurals = {
        "NetworkPolicy": "networkpolicies",
        "ConfigMap": "configmaps",
        "PodMonitor": "podmonitors",
        "PrometheusRule": "prometheusrules",
    }
    for name in ("podmonitors", "prometheusrules"):
        with open(f"{kinds}/monitoring.coreos.com_{name}.yaml", encoding="utf-8") as stream:
            cluster.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", yaml.safe_load(stream))
        eventually(lambda name=name: cluster.ask("GET", f"/apis/monitoring.coreos.com/v1/{name}").ok)
    for one in monitoring.values():
        group = f"/apis/{one['apiVersion']}" if "/" in one["apiVersion"] else f"/api/{one['apiVersion']}"
        path = f"{group}/namespaces/hostagent/{plurals[one['kind']]}?fieldValidation=Strict&dryRun=All"
        cluster.admin("POST", path, one)
        answer = cluster.ask("POST", path, {**one, "specc": {}})
        assert (answer.status_code, "specc" in answer.text) == (400, True), answer.text
