"""``docs/daemon.md``: made of what real commands print and of names in the code by ``python -m tests.docs``; a test holds it."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import get_args

import click

from hostagent.cli.daemon import command
from hostagent.daemon import record, statedir
from hostagent.daemon.conditions import TYPES, measured
from hostagent.daemon.debounce import advance, at_once, first
from hostagent.daemon.labels import labels
from hostagent.domains.nccl.class_inputs import CLASS_INPUTS, HOST_INPUTS
from hostagent.engine.catalogue import OURS, load
from hostagent.engine.report import daemon_lock
from hostagent.engine.report.node_status import Transition
from hostagent.engine.report.summary import Coverage
from hostagent.install import clearing
from hostagent.outputs.log import Log
from tests import recorded
from tests.readme import ROOT, output

PAGE = "docs/daemon.md"
_TEXT = Path(__file__).with_name("daemon_page.md")
#: The same host, before one of its GPUs falls off the bus and after.
HEALTHY, SICK = "tests/hosts/hgx-h100-ubuntu2404", "tests/hosts/hgx-h100-gpu-off-the-bus"
_WHOLE = {
    "Ready": "every check that counts for jobs on this node alone",
    "MultiNodeReady": "every check, those of jobs on several nodes too",
}
_LABELS = {
    "ready": "`true`, `false`, `unknown`: the condition `Ready`",
    "multi-node-ready": "the same of `MultiNodeReady`",
    "gpu-count": "how many GPUs jobs may have: none that a virtual machine or nouveau holds",
    "gpu-product": "what they are, as GPU feature discovery spells it",
    "compute-capability": "theirs, such as `9.0`",
    "driver-branch": "the first number of the driver's version",
    "fabric-class": "equal on nodes that one job may use together that brings its own NCCL: `1-` and 12 hexadecimal digits, see [the class of a node](#the-class-of-a-node)",
    "coverage": "what nobody could look at here",
    "valid-until": "with `--label-valid-until`: the half hour after the end of the verdict's time, in seconds since 1970",
}
_INPUTS = {
    "gpu_product": "the GPUs' product",
    "gpu_memory": "their memory in GiB",
    "gpu_count": "how many jobs may have",
    "gpus_per_numa": "how many are on each NUMA node",
    "mig": "whether MIG is on",
    "driver_branch": "the driver's branch",
    "link_layer": "InfiniBand or Ethernet",
    "hcas": "how many rails",
    "rate_gbps": "their rates",
    "mtu": "MTU of their interfaces",
    "active_mtu": "their active MTU",
    "gid_type": "type of the GID that NCCL takes",
    "gdr": "GPUDirect RDMA",
    "traffic_class": "NCCL_IB_TC of the lossless priority, with PFC, trust and DSCP of the cards",
    "hca_names": "names of the rails' HCAs",
    "nccl": "version of libnccl",
    "net_plugin": "network plug-ins of NCCL",
    "socket_ifname": "NCCL_SOCKET_IFNAME",
    "settings": "settings of NCCL that win, but those of its log and those that `nccl env` sets",
}
#: By word: what was not read, and what that costs: checks, and the label multi-node-ready.
_COVERAGE = {
    "full": ("", ""),
    "no-nvml": (
        "NVML: memory, compute capability, ECC, clocks and NVLink of the GPUs",
        "checks that ask NVML are unknown, and `ready` with them; with `nvml: optional` they are skipped, the class is made without memory and MIG, and `hostagent gate` takes the node with `--allow-mig` alone",
    ),
    "no-rdma": (
        "libibverbs: the active MTU of InfiniBand, DMA-BUF of the library",
        "`rdma.active_mtu` of InfiniBand is unknown, `multi-node-ready` too; with `verbs: optional` it is skipped, and the class is made without that MTU",
    ),
    "host-only": ("NVML and libibverbs", "as of `no-nvml` and `no-rdma`"),
    "no-network": (
        "the host's network namespace: lossless priorities of RoCE cards (DCB), sysctls, some addresses of interfaces",
        "`network.pfc`, `network.trust` and `network.port_range` are unknown; `multi-node-ready` is `unknown` where rails are RoCE",
    ),
}
_FILES = {
    statedir.STATE: "what is published (`verdict`, `conditions`) and what the last pass found (`measured`, `quarantine`, `fabric_class`, `has_gpus`); "
    "`hostagent status`, `npd` and `slurm` read it",
    statedir.SUMMARY: "the summary",
    statedir.REPORT: "the report of the last pass; it quotes logs",
    statedir.PUBLISHED: "what is published of each condition, and since when",
    statedir.HISTORY: "faults, lost links and loads of the driver in this boot",
    statedir.RECORD: "transitions and critical faults, over boots; in the folder of `--history-dir`",
    daemon_lock.NAME: "held by the daemon at work",
    statedir.LOCK: "held while one of the daemon's two processes writes",
    statedir.CLEARED: "what an administrator cleared; it is always in `/run/hostagent` of the judged host",
    clearing.LOCK: "held while that is written; in the same directory",
}
_DAEMON_METRICS = {
    "hostagent_xids_total{kind,code,pci,uuid}": "Xids of GPUs and SXids of NVSwitches in the kernel log of this boot.",
    "hostagent_condition{condition,status,reason}": "The conditions of the node as they are published, each 1.",
    "hostagent_agent_stale": "Whether no pass was judged for too long, so that everything is unknown.",
    "hostagent_profile_loads": "Whether the profile loads; where it does not, an older one is in force.",
    "hostagent_passes_total{trigger}": "Passes since the daemon began, by what made them begin.",
    "hostagent_pass_duration_seconds": "How long the last pass took.",
    "hostagent_deliveries_total{sink,result}": "Writes to Kubernetes and to files of others, also those that failed.",
    "hostagent_delivery_last_success_timestamp_seconds{sink}": "When one succeeded last.",
    "hostagent_condition_transitions_total{condition}": "Changes of the status of each condition that were published.",
    "process_*": "Memory, descriptors, time of CPU and start, as Prometheus' client libraries name them.",
}  # fmt: skip
_HELP = re.compile(r"^# HELP (\S+) (.*)$", re.MULTILINE)


@cache
def page() -> str:
    """The page as it should be today."""
    text = _TEXT.read_text(encoding="utf-8")
    for name, part in _parts().items():
        text = text.replace(f"{{{{{name}}}}}", part)
    return text


def _parts() -> dict[str, str]:
    return {
        "BEFORE": _told(HEALTHY),
        "AFTER": _told(SICK),
        "STATUS": _status(),
        "LINES": "\n".join(_lines()),
        "HISTORY": _history(),
        "CONDITIONS": _rows((name, judged) for name, judged in _conditions()),
        "LABELS": _rows((name, _LABELS[name]) for name in _label_names()),
        "FLAGS": _flags(),
        "FILES": _files(),
        "METRICS": _metrics(),
        "COVERAGE_TABLE": _coverage(),
        "CLASSES": _classes(),
        "COVERAGE": ", ".join(f"`{word}`" for word in get_args(Coverage)),
    }


def _rows(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"| `{name}` | {text} |" for name, text in pairs)


def _classes() -> str:
    """Inputs of both classes, in words."""
    rows = (("`fabric.class`, the label `fabric-class`", CLASS_INPUTS), ("`fabric.host_class` adds", HOST_INPUTS))
    return "\n".join(f"| {name} | {', '.join(f'{_INPUTS[one]} (`{one}`)' for one in inputs)} |" for name, inputs in rows)


def _coverage() -> str:
    """Every word, of two joined ones each."""
    words = dict.fromkeys(part for word in get_args(Coverage) for part in word.split("."))
    rows = (f"| `{word}` | {_COVERAGE[word][0] or 'nothing'} | {_COVERAGE[word][1] or 'nothing'} |" for word in words)
    return "\n".join(("| `coverage` | what was not read | what it costs |", "|---|---|---|", *rows))


def _told(host: str) -> str:
    shown = f"hostagent daemon --once --dry-run --node-name gpu-7 --from {host}"
    return f"$ {shown}\n{output(shown).partition('PATCH ')[0].rstrip()}"


def _status() -> str:
    """Of a state directory that the daemon has just written; the clock and the boot are those of the machine that makes the page."""
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder, statedir.STATE)
        _called("daemon", "--once", "--kubernetes", "off", "--listen", "", "--state-dir", folder, "--from", SICK)
        said = _called("status", "--state-file", str(state))
    lines = [line for line in said.splitlines() if not line.startswith("STALE")]
    now = [re.sub(r"checked .* ago (.*) another .*", r"checked 4 s ago \1 another 15 min", line) for line in lines]
    now = [re.sub(r"last change [-0-9: ]+ UTC", "last change 2026-11-29 03:00:00 UTC", line) for line in now]
    return "\n".join(["$ hostagent status", *now])


def _called(*words: str) -> str:
    search = {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-m", "hostagent", *words], capture_output=True, text=True, check=False, cwd=ROOT, env=search)
    if done.stderr:
        raise SystemExit(f"Error: 'hostagent {' '.join(words)}' said:\n{done.stderr}")
    return done.stdout


#: When the GPU of the example fell off the bus, and was back: 2026-11-29 03:00 UTC.
_AT, _BACK = 1_795_921_200.0, 1_795_932_000.0
_BOOT = "6f3d1c52-8f0e-4b8b-9c67-0f2f1f7c1f10"


@cache
def _recorded() -> "tuple[record.Record, tuple[Transition, ...]]":
    """What the daemon records of the host whose GPU falls off the bus, and comes back with a reset."""
    kept, told, news = record.EMPTY, None, tuple[Transition, ...]()
    for host, at in ((HEALTHY, _AT - 60), (SICK, _AT), (HEALTHY, _BACK), (HEALTHY, _BACK + 5)):
        report = replace(recorded.report_of(Path(host).name), observed_at=at, boot_id=_BOOT)
        found = measured(report, {one.id: one.family.condition for one in load([OURS])})
        told = advance(told, found, at) if told else at_once(_BOOT, found, at)
        kept, new = record.with_transitions(record.with_faults(kept, report), told.conditions, _BOOT, at)
        news += new if at >= _AT else ()
    return kept, news


def _lines() -> "list[str]":
    lines: list[str] = []
    for one in _recorded()[1]:
        if one.condition in ("Ready", "DriverReady"):
            Log("text", lines.append).turned(one)
    return lines


def _history() -> str:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, statedir.RECORD).write_text(record.dump(_recorded()[0]), encoding="utf-8")
        shown = "hostagent daemon history --since 2026-11-29T02:59:59Z"
        said = _called(*shown.split()[1:], "--history-dir", folder)
    return f"$ {shown}\n{said.rstrip()}"


def _conditions() -> "list[tuple[str, str]]":
    families: dict[str, dict[str, None]] = {}
    for one in load([OURS]):
        families.setdefault(one.family.condition, {})[one.id.partition(".")[0]] = None
    return [(kind, _WHOLE.get(kind) or ", ".join(f"`{name}.*`" for name in families[kind])) for kind in TYPES]


def _label_names() -> "list[str]":
    return list(labels({"valid_until": 0.0}, first("", 0.0), valid_until=True))


def _flags() -> str:
    rows = []
    for one in command.params:
        if isinstance(one, click.Option) and "--help" not in one.opts:
            metavar = "" if one.is_flag else f" {one.metavar or '|'.join(getattr(one.type, 'choices', ()))}"
            default = "" if one.is_flag or one.default in (None, "") else f"`{_plain(one.default)}`"
            text = (one.help or "").replace("|", "\\|")
            rows.append(f"| `{one.opts[0]}{metavar}` | {default} | {text} |".replace(metavar, metavar.replace("|", "\\|"), 1))
    return "\n".join(rows)


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _files() -> str:
    modes = {**statedir.MODES, daemon_lock.NAME: 0o600, statedir.LOCK: 0o600, statedir.CLEARED: 0o644, clearing.LOCK: 0o600}
    return "\n".join(f"| `{name}` | {mode:04o} | {_FILES[name]} |" for name, mode in modes.items())


def _metrics() -> str:
    of_report = _HELP.findall(output(f"hostagent check --format prometheus --from {HEALTHY}"))
    return _rows((*of_report, *_DAEMON_METRICS.items()))
