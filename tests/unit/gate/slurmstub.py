"""A stand-in for Slurm's programs: answers that real ones of three releases gave (`slurm_recorded`), with changes of a test."""

import json
import re
from pathlib import Path

from hostagent.gate.backends.slurm import Slurm
from hostagent.gate.request import Request
from hostagent.slurm.client import Answer

FOLDER = Path(__file__).with_name("slurm_recorded")
RELEASES = ("22.05", "24.11", "26.05")
#: While the reservations of the recordings hold.
NOW = {"22.05": 1796033400.0, "24.11": 1796033400.0, "26.05": 1796033400.0}
EXTRA = '{"hostagent":1,"hostagent_multi":1,"hostagent_class":"1-c0ffee","hostagent_coverage":"full"}'


class Programs:
    """`state`: which recording. `is_text`: no program writes JSON. `answers` come first, by the beginning of a call."""

    def __init__(self, release="24.11", state="odd", *, is_text=False):
        self.recorded = json.loads((FOLDER / f"{release}.json").read_text(encoding="utf-8"))
        self.state, self.is_text, self.answers, self.calls = state, is_text, {}, []

    def ask(self, name, *arguments, seconds=0.0):
        call = " ".join((name, *arguments))
        self.calls.append(call)
        for begin, answer in self.answers.items():
            if call.startswith(begin):
                return answer if isinstance(answer, Answer) else Answer(0, answer, "")
        return self._recorded(call, arguments)

    def _recorded(self, call, arguments):
        if arguments == ("--version",):
            return Answer(0, self.recorded["version"], "")
        if re.search(r"--json\b", call):
            if self.is_text:
                return Answer(1, "", "error: unable to load the plug-in serializer/json")
            return Answer(0, json.dumps(self.document), "")
        if arguments[:2] == ("show", "hostnames"):
            return Answer(0, arguments[2].replace(",", "\n") + "\n", "")
        return Answer(0, self.recorded[f"{self.state} text" if arguments[1] == "nodes" else arguments[1]], "")

    @property
    def document(self):
        return self.recorded[f"{self.state} json"]

    def node(self, name):
        """A node of the document, to be changed."""
        return next(one for one in self.document["nodes"] if one["name"] == name)


def healthy(release="24.11", **changes):
    """Every node idle and placeable."""
    programs = Programs(release, "busy")
    for row in programs.document["nodes"]:
        row.update(state=["IDLE"], state_flags=[], gres="gpu:h100:8", gres_used="gpu:h100:0(IDX:N/A)", extra=EXTRA, alloc_cpus=0, **changes)
        row.pop("idle_cpus", None)
        row.pop("alloc_idle_cpus", None)
    programs.recorded["reservation"] = "No reservations in the system\n"
    return programs


def backend(programs, nodes=1, gpus=8, summaries=None, now=NOW["24.11"], **asked):
    made = Slurm(programs, Request(nodes, gpus, **asked), summaries)
    made.now = now
    return made


def candidates(programs, *more, **asked):
    """By node."""
    (page,) = backend(programs, *more, **asked).pages()
    return {one.node: one for one in page}


def own(programs, node, *more, **asked):
    """Codes and messages of one node."""
    return [(reason.code, reason.message) for reason in candidates(programs, *more, **asked)[node].own_reasons]
