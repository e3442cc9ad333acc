"""``docs/fabric.md``: one MTU disagreement and its remedy, made from a recorded host by ``python -m tests.docs``; a test holds it against drift."""

import re

from hostagent.domains.network.tables.numbers import ACTIVE_MTUS, ROCE_HEADERS
from hostagent.engine.catalogue import OURS, load
from tests.readme import output

PAGE = "docs/fabric.md"
#: A board of eight GPUs with RoCE: the MTU of one rail was not raised with the others.
HOST = "hgx-h100-roce-one-rail-1500"
#: MTUs that people give interfaces.
_COMMON = (9000, 4200, 1500)
_PORTS = re.compile(r"^PORTS\n(?:  .*\n)+", re.MULTILINE)

_PAGE = """\
# The fabric of one host

Made by `make docs` from a recorded host; edit `tests/fabric_page.py`, not this page.

`hostagent check --scope multi` says whether the host is ready for jobs that run on several hosts: whether each GPU has a NIC near it that may
reach its memory, whether the ports behind those NICs are up at their full rate, which GID and which MTU a job gets there, and whether
all of them agree. It reads sysfs and asks libibverbs; it starts no program, sends no packet and changes nothing.

## One MTU disagreement

Somebody raised the MTU of seven of eight rails. Every port is up, and jobs on this host alone run as before.

<!-- output: {check} -->
```
{checked}
```

The exit code is 1. Without `--scope multi` it is 0: the host is ready for jobs that need no other host.

The remedy is the one command that the report has, and the same value in the host's network configuration, so that it is there after the
next boot. Which value is right is not the host's to say: hostagent wants what most rails have, or what the profile asks for
(`rdma.netdev_mtu`, `rdma.active_mtu`). A switch whose ports have less drops what is longer, which no host can see by itself.

## The same on the map

`hostagent topology` has a line for each port and ends with one answer:

<!-- output: {map} -->
```
{ports}

{answer}
```

`agree` means that all rails have one MTU for their interfaces and one active MTU, and that no active MTU is lower than its interface allows.
`--json` has the same under `fabric`, as `hostagent check --json` has it under `facts.fabric`; in the picture (`--format svg`) the NIC of
a port with a finding has a thick line.

## Which MTU a job gets

RDMA does not use the MTU of the interface. It has one of its own, the active MTU, which is {sizes} bytes. The kernel gives a
RoCE port the largest that fits into its interface's MTU together with {headers} bytes of headers:

| MTU of the interface | active MTU |
|---|---|
{formula}

So {least} is enough for the largest active MTU; 9000 is a convention that leaves room. An MTU of 1500 works, too, and costs some rate. What
breaks jobs is two ends that disagree, or a switch between them that takes less: a card does not fragment, the packet is gone, and NCCL
ends with `status=12` after its last retry, or waits.

The active MTU is asked of the host's libibverbs. Where that cannot be asked, it is derived from the interface by the kernel's formula, and the
answer says `derived`. For InfiniBand nothing can be derived: without libibverbs it is not known.

## Which ports are judged

A *rail* is a port that carries jobs between hosts: the RDMA ports nearest to some GPU that share their link layer and top rate with the majority
of those. All others, for storage and management, are `other`: they are listed, and their rate, MTU and link layer are not compared. The profile can
name the rails itself: `rdma.hcas: "=mlx5_0,mlx5_1"`, in NCCL's own syntax. A host with an RDMA NIC on PCI must have RDMA ports, unless the
profile says `rdma.required: "no"`, or its links are known to be slower than 100 Gb/s.

Management functions of NVSwitches (HGX B200 and B300) look like NICs and are none: their ports are not read and count in no rail.

## Which GID a job gets

The check names the slot of the GID table that NCCL picks by itself from 2.21 on, and whether earlier versions, which take slot 0, get another one. A
rail on which that is no RoCE v2 GID of an address cannot reach a host in another network.

## What is checked

| check | severity | passes when |
|---|---|---|
{checks}

## What one host cannot say

- Whether the switches between two hosts take packets of this length in both directions, whether all pairs of rails reach each other, and at
  which rate: that needs two hosts.
- Whether a counter grows: that needs two readings. Counters since the boot are judged by what they were per day.
- What a NetworkAttachmentDefinition gives to pods: that is the API server's to say.

## What is simulated

The host on this page is a made tree (`simulated: true`): states, rates, GIDs and firmware as published hosts have them, and a stub of
libibverbs that answers as the real one would. Debian's own libibverbs is asked in the tests, on a machine without devices.
"""


def page() -> str:
    check, shown = (f"hostagent {name} --from tests/hosts/{HOST}" for name in ("check --scope multi", "topology"))
    lines = output(shown)
    ports = _PORTS.search(lines)
    if not ports:
        raise SystemExit(f"Error: '{shown}' shows no ports. Run 'make hosts', then 'make docs' again.")
    return _PAGE.format(
        check=check,
        checked=_stripped(output(check)),
        map=f"{shown} (part)",
        ports=_stripped(ports[0]),
        answer=lines.rstrip().splitlines()[-1],
        sizes=f"{', '.join(map(str, sorted(ACTIVE_MTUS)[:-1]))} or {max(ACTIVE_MTUS)}",
        headers=ROCE_HEADERS,
        least=max(ACTIVE_MTUS) + ROCE_HEADERS,
        formula=_formula(),
        checks=_checks(),
    )


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def _formula() -> str:
    """From which MTU on each active MTU fits, with what people set."""
    rows = []
    for size in ACTIVE_MTUS:
        least = size + ROCE_HEADERS
        above = next((more + ROCE_HEADERS for more in reversed(ACTIVE_MTUS) if more > size), 0)
        common = [str(one) for one in _COMMON if one >= least and (not above or one < above)]
        rows.append(f"| {least} or more{_such(common)} | {size} |")
    return "\n".join(rows)


def _checks() -> str:
    """Those of the fabric: of RDMA and the network, and of the path between a GPU and its NIC."""
    rows = [one for one in load([OURS]) if one.scope == "fabric" and one.id.partition(".")[0] in ("rdma", "network", "topology")]
    return "\n".join(f"| [{one.id}](../checks/docs/{one.id}.md) | {one.severity} | {one.title} |" for one in rows)


def _such(common: list[str]) -> str:
    return f", such as {' and '.join(common)}" if common else ""
