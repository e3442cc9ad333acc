"""Writes ``tests/hosts/README.md``, a page of every recorded host: ``python -m tests.hostlist``. A test holds it against drift."""

import sys
from pathlib import Path

from tests.recorded import expectation_of
from tests.trees.record import HOSTS, MACHINES, RECIPES, claimed

PAGE = HOSTS / "README.md"
_INTRODUCTION = """\
# Recorded hosts

Made by `make docs` from `tests/trees` and each `expect.yaml`; edit those, not this page.

Each directory is one host: `tape.json`, what is used of the answers it gave (see `hostagent snapshot`), and `expect.yaml`: the verdict, the
checks that did not pass, and what a person claims in the host's tree: `first`, the check that tells the right cause and comes first in the
report, and `never`, words that no remedy of this host may contain. `tests/test_hosts.py` checks each by `hostagent check --from`, states by
hand what each stands for, and removes answers in turn: none may make the host look better.

{count} hosts, {broken} of them not ready. A twin is another host with one named change; it is listed below that host, and repeats its
configuration except for the change. `configuration` is what was published about such hosts, and what the tree repeats.

| host | what it is | verdict | first cause | twin of | profile | configuration |
|---|---|---|---|---|---|---|
"""
_END = """
All but {machines} are made up: `tests/trees` builds a directory that looks like the host from documented formats, the real
collectors read it through `--host-root`, and NVML's answers come from the stub in `tests/stub_nvml` through the real binding. What a
directory cannot contain comes from `tests/trees/staged.py`: the clock, sizes of file systems, and what programs (`rpm`, `containerd
--version`) would print. Keyrings contain nobody's keys, mirrors are in no real domain.

After a change of a collector: `make hosts`, then read the difference of every `expect.yaml`, then `make docs`. The tape of a real machine
stays as it is: `not_recorded` in its `expect.yaml` lists the checks that ask what it does not know.
`no-gpu-vm` was recorded by `python -m tests.trees.machine no-gpu-vm`: redacted, and without the packages, libraries and boot
parameters that no collector asks about; mirrors and the kernel's name are cut to what all have in common.
"""


def page() -> str:
    """The page as it must be now."""
    names = [name for name in _ordered() if (HOSTS / name / "expect.yaml").exists()]
    rows = [_row(name) for name in names]
    broken = sum(bool(claimed(name).first) for name in names)
    machines = ", ".join(f"`{name}`" for name in MACHINES)
    return _INTRODUCTION.format(count=len(rows), broken=broken) + "".join(rows) + _END.format(machines=machines)


def _ordered() -> list[str]:
    """Every host, its twins after it."""
    everyone = (*MACHINES, *RECIPES)
    twins: dict[str, list[str]] = {}
    for name in everyone:
        twins.setdefault(claimed(name).twin, []).append(name)

    def below(name: str) -> list[str]:
        return [one for twin in twins.get(name, ()) for one in (twin, *below(twin))]

    return below("")


def _row(name: str) -> str:
    claim, expected = claimed(name), expectation_of(name)
    single, multi = (expected[f"{scope}_node"].replace("_", " ") for scope in ("single", "multi"))
    verdict = single if single == multi else f"{single}, many nodes: {multi}"
    first, twin = (f"`{text}`" if text else "" for text in (claim.first, claim.twin))
    cells = (f"`{name}`", claim.what, verdict, first, twin, expected["profile"], claim.source)
    return "| " + " | ".join(cells).replace("|  |", "| |") + " |\n"


def main() -> None:
    Path(PAGE).write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")


if __name__ == "__main__":
    main()
