"""``docs/nccl.md``: made from a generated log and made reports by ``python -m tests.docs``; a test holds it against drift."""

import copy
from dataclasses import replace
from pathlib import Path

from hostagent.domains.nccl.agreement import ROWS
from hostagent.domains.nccl.environment import derive
from hostagent.domains.nccl.logs.chunks import blocks
from hostagent.domains.nccl.logs.explanation import GOOD, Job
from hostagent.domains.nccl.tables.causes import CAUSES
from hostagent.engine.catalogue import OURS, explaining, load
from hostagent.engine.report.log_correlation import joined
from hostagent.host import recording
from hostagent.host.recording import ReplayBackend
from hostagent.outputs.job_environment import render_environment
from hostagent.outputs.job_log import render_explanation
from hostagent.profiles import profile
from tests.judged import judged
from tests.nccl_logs import TCP, V227
from tests.nccl_logs import Job as Written
from tests.nccl_nodes import fleet, node
from tests.words import meanings

PAGE = "docs/nccl.md"
_HOST = Path(__file__).parent / "hosts/hgx-h100-without-peermem"

_PAGE = """\
# What NCCL did, and what it should be given

Made by `make docs` from a generated log and from made reports; edit `tests/nccl_page.py`, not this page.

NCCL falls back to TCP without an error where it finds no HCA: the job runs, many times slower. `hostagent nccl explain` says from the job's
own log which network NCCL used, whether with GPUDirect RDMA, and why. It needs neither the host nor a GPU: it reads what you give it.

```
hostagent nccl explain job.log                        # one log
hostagent nccl explain logs/                          # the logs of all ranks, .gz too: one job, one answer
kubectl logs -l job=train --prefix | hostagent nccl explain -
hostagent nccl explain job.log --require rdma_gdr     # for scripts: exit 0 with this verdict alone
```

The job has to run with `NCCL_DEBUG=INFO`, up to its first collective: from NCCL 2.22 on, connections are made then. With many ranks,
`NCCL_DEBUG_FILE=/logs/nccl.%h.%p` gives each a file of its own, so that no line of one is written into a line of another.

## A job that fell back to TCP

```
{shown}
```

The exit code is 1. A script that has to stop such a job sets `NCCL_NET=IB`, too: then NCCL fails where it would fall back.

## Why, by the hosts

The log says what NCCL did; why, the host says. `--from` takes a snapshot, `--reports` what `hostagent check --format json` wrote on the
hosts (a file, a directory, `-`), and `--this-host` looks at the machine itself, as `hostagent check` does. What of their findings explains
the log is told under it, with its check and first step; the verdict and the exit code stay those of the log. A host that the log does not
name is said, and so is a check that could explain it and could not be made. Hosts say what they are now: look at them before anything is
changed.

```
hostagent nccl explain job.log --this-host
hostagent nccl explain job.log --reports reports/
```

```
{joined}
```

## The verdicts

The first that holds is the job's. Exit code 0 is for those with a star; with `--require` it is for the verdicts named there. Exit code 2 is
for logs that cannot be read.

| verdict | meaning |
|---|---|
{verdicts}

Each verdict names the lines that prove it, and how many of the job's ranks have lines. A proof is the line of a connection, such as
`via NET/IB/0/GDRDMA`; what NCCL only chose is no proof of GPUDirect. Lines of bootstrap or initialisation prove no network.

## What else it finds

| code | what happened |
|---|---|
{causes}

`hostagent nccl explain --format json` has all of them with steps and lines; `hostagent schema nccl` describes it.

## What a job should be given

`hostagent nccl env` says what NCCL of a job is to be given on one host, or on all hosts of a job by their reports. It emits what keeps
NCCL from a wrong choice, and nothing that would hide a fault: a host that is not ready, or that differs from the others in what has to be
alike, gets no variables, and is named.

```
hostagent check --format json -o node7.json           # on each host
eval "$(hostagent nccl env --reports reports/)"       # exports for a shell; exit 1 and nothing else where something is refused
hostagent nccl env --reports reports/ --format yaml   # for the env: of a container
hostagent nccl env --reports reports/ --format conf --node node7    # lines for that node's /etc/nccl.conf
hostagent nccl env --reports reports/ --nccl 2.18.3   # where the job brings a version of its own
hostagent nccl env --env-file /proc/PID/environ       # this host, as a job with that environment finds it
```

### `nccl env` for two hosts that disagree

```
$ hostagent nccl env --reports node1.json node2.json
{refused}
```

The exit code is 1. With the MTU of node2 corrected, and a new report of it:

```
$ hostagent nccl env --reports node1.json node2.json
{emitted}
```

Interfaces and HCAs are named exactly (`=`), so that `mlx5_1` does not take `mlx5_10`, too. Where their names differ by node, a prefix of
the interfaces does if it takes one of each node; else the value is the node's own, and only `--format conf --node NAME` has it.
`NCCL_IB_GID_INDEX` is emitted for NCCL before 2.21 alone, `NCCL_NET_GDR_LEVEL` never. What a provider's network needs (gIB,
GPUDirect-TCPX and TCPXO, EFA) is its own script or plug-in: that is named, and no variable is made up in its place.

What has to be alike on all hosts:

{rows}
- the version of NCCL and its network plug-ins, unless `--nccl` says that the job brings its own
- all settings of NCCL that the hosts have already, but for names of interfaces, HCAs and the file of the topology, and for those of the
  log (`NCCL_DEBUG` and what begins so)

Reports that have expired, that are of some checks alone, or in which a critical check failed or could not tell, are refused, too.
`hostagent schema nccl-env` describes `--format json`, which has the reasons.

`--reports` takes summaries, too: what `hostagent check --format summary` wrote, or the daemon's `summary.json`. A summary has the settings for
its own host alone. They suffice where all hosts have one fabric class and the same settings; where the settings or their values differ, and
where a summary does not have them, the refusal (`needs_reports`) names the hosts of which full reports are needed. With `--nccl VERSION`
summaries suffice if the hosts have that version themselves, without network plug-ins.

Whether the hosts reach each other over the interface, whether the fabric between them is of one piece, and to which IMEX domain a host
belongs, is not in their reports.

## What the log cannot tell

- A record that was cut is left out: what is missing never counts, neither for GPUDirect nor against it. A line that somebody cut off exactly
  before `/GDRDMA`, and ended there, looks like one without GPUDirect.
- Why GPUDirect is off is a matter of the host: see `--from`, `--reports` and `--this-host` above.
- Two hosts of one name are told apart by their addresses; where the log has neither addresses nor a number of nodes, it is unknown.
- RCCL and other libraries write lines like these. They are named and not judged.
- The formats are those of NCCL 2.4 to 2.32, held against the texts in its libraries. No log on this page or in the tests comes from a cluster.
"""


def _environments() -> dict[str, str]:
    """Of two made hosts, the second of which has a smaller MTU, and then no longer."""
    alike = fleet(2)
    unlike = copy.deepcopy(alike)
    fabric = unlike[1]["facts"]["fabric"]
    for one in fabric["nics"]:
        one["mtu"] = 1500
    for one in fabric["rdma"]:
        one["active_mtu"] = 1024
    refused = derive([node(one) for one in unlike])
    emitted = derive([node(one) for one in alike])
    return {
        "refused": "\n".join(f"Refused: {one.message}." for one in refused.refusals),
        "emitted": render_environment(emitted, "shell").rstrip(),
        "rows": "\n".join(f"- {what}" for _, what, _ in ROWS),
    }


def page() -> str:
    job = Job()
    written = Written(V227, gpus=2, logged=(0, 1), **TCP)
    for block in blocks([written.text().encode()]):
        job.read("job.log", block)
    shown = render_explanation(job.explain(), "text").rstrip()
    words = meanings()["lists"]["NcclVerdict"]["words"]
    verdicts = "\n".join(f"| `{word}`{' *' if word in GOOD else ''} | {text} |" for word, text in words.items())
    own = {
        "retry_exceeded": "An HCA got no answer from the other side",
        "completion_error": "An HCA reports a failed operation, with the meaning of its status",
        "path_mtu": "Connections have different path MTUs",
        "loopback": "NCCL connects over the loopback interface",
        "virtual_interface": "NCCL connects over a virtual interface",
        "plugin_absent": "The network plug-in is not there",
        "forced": "A setting keeps NCCL from RDMA",
        "local_disabled": "Fast paths within a host are turned off",
        "gdr_off": "RDMA goes without GPUDirect",
        "version_skew": "Ranks have different versions of NCCL",
        "few_ranks": "Only some ranks have a log",
        "no_channels": "No channel over the network is in the log",
    }
    causes = "\n".join(f"| `{code}` | {text} |" for code, text in {**{one.code: one.headline for one in CAUSES}, **own}.items())
    return _PAGE.format(shown=shown, joined=_joined(), verdicts=verdicts, causes=causes, **_environments())


def _joined() -> str:
    """The first lines about a job without GPUDirect, with one of its hosts."""
    report = judged(ReplayBackend(recording.load(str(_HOST))), profile.load("default", site_file=""))
    named = replace(report, host=replace(report.host, hostname="node1"))
    job = Job()
    for block in blocks([Written(V227, gpus=1, gdr=False).text().encode()]):
        job.read("job.log", block)
    shown = render_explanation(joined(job.explain(), [named], job.hosts, explaining(load([OURS]))), "text")
    return shown.partition("\n\n")[0]
