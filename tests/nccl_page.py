"""``docs/nccl.md``: made from a generated log by ``python -m tests.docs``; a test holds it against drift."""

from dataclasses import replace
from pathlib import Path

from hostagent import profile
from hostagent.knowledge.ncclcauses import CAUSES
from hostagent.nccl.chunks import blocks
from hostagent.nccl.explanation import GOOD, Job
from hostagent.report.hostcauses import joined
from hostagent.sinks.nccl import render_explanation
from hostagent.source import tape
from hostagent.source.tape import ReplayBackend
from tests.judged import judged
from tests.nccl_logs import TCP, V227
from tests.nccl_logs import Job as Written
from tests.words import meanings

PAGE = "docs/nccl.md"
_HOST = Path(__file__).parent / "hosts/hgx-h100-without-peermem"

_PAGE = """\
# What NCCL did

Made by `make docs` from a generated log; edit `tests/nccl_page.py`, not this page.

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

## What the log cannot tell

- A record that was cut is left out: what is missing never counts, neither for GPUDirect nor against it. A line that somebody cut off exactly
  before `/GDRDMA`, and ended there, looks like one without GPUDirect.
- Why GPUDirect is off is a matter of the host: see `--from`, `--reports` and `--this-host` above.
- Two hosts of one name are told apart by their addresses; where the log has neither addresses nor a number of nodes, it is unknown.
- RCCL and other libraries write lines like these. They are named and not judged.
- The formats are those of NCCL 2.4 to 2.32, held against the texts in its libraries. No log on this page or in the tests comes from a cluster.
"""


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
    return _PAGE.format(shown=shown, joined=_joined(), verdicts=verdicts, causes=causes)


def _joined() -> str:
    """The first lines about a job without GPUDirect, with one of its hosts."""
    report = judged(ReplayBackend(tape.load(str(_HOST))), profile.load("default", site_file=""))
    named = replace(report, host=replace(report.host, hostname="node1"))
    job = Job()
    for block in blocks([Written(V227, gpus=1, gdr=False).text().encode()]):
        job.read("job.log", block)
    shown = render_explanation(joined(job.explain(), [named], job.hosts), "text")
    return shown.partition("\n\n")[0]
