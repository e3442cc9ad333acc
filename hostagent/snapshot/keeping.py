"""Filters a tape to what readers used: each answer by its kind and by the names that readers declare.

A reader of an answer declares (`hostagent.core.retention.Keep`) its kind, a word of `KINDS`, and names. To know what a recorded pass
used, its answers are read once more. An answer that no reader claims is left out: a replay calls it *not-recorded*.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from hostagent.core.answers import Answer
from hostagent.core.errors import HostagentError
from hostagent.core.retention import WHOLE, Filtered, Keep, merged
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Kind
from hostagent.domains.nccl.conf_text import conf_text
from hostagent.engine.collect import ALL_READERS, collect
from hostagent.host.answer_file import Question
from hostagent.host.budget import weight
from hostagent.host.recording import MAX_BYTES
from hostagent.host.source import Source
from hostagent.snapshot import documents, flagwords, kubelets, lines, packages, rows
from hostagent.snapshot.slurmconf import slurm_conf

#: Questions with answers that this program makes itself, of numbers, names of files and words of its own.
_OWN = frozenset(
    {
        "list",
        "stat",
        "readlink",
        "realpath",
        "statvfs",
        "volume",
        "elf",
        "nccl_library",
        "adjtimex",
        "lock_holder",
        "host",
        "nvml",
        "state_file",
        "podresources",
        "configz",
        "rdma",
        "network",
        "pci_controls",
        "environment",
        "gpu_users",
        "shims",
        "enrolled",
    }
)
#: In memory, where numbers and empty texts take more than in a file.
_MOST_BYTES = 2 * MAX_BYTES
_ERRORS, _ERROR_CHARACTERS = 20, 300

#: Replaces a text with a value that does not matter, equal texts by equal ones.
Mask = Callable[[str], str]
_Filter = Callable[[Any, tuple[str, ...], Mask], Any]
#: What a name is: a key (settings, keys); a pattern (matches, log, first, messages); ``Section.Key`` (unit); a key in full (apt.conf);
#: a path of keys (toml, json, yaml: see `documents`); a field (kubelet); a word before ``=`` (words); what a line begins with
#: (beginnings); a first column (rows); a number of bytes (head); a flag (arguments, flags); a path (paths, mounts); a field or
#: ``PACKAGE*`` (dpkg); a soname; a key in small letters, or ``KEY:WORD`` (slurm.conf).
KINDS: Mapping[str, _Filter] = {
    "nothing": lambda *_: b"",
    "settings": lines.settings,
    "matches": lines.matches,
    "log": lines.log,
    "first": lines.first,
    "words": lines.words,
    "beginnings": lines.beginnings,
    "rows": lines.rows,
    "head": lines.head,
    "mounts": lines.mounts,
    "mount table": lines.mount_table,
    "flags": flagwords.flags,
    "unit": lines.unit,
    "apt.conf": packages.apt_conf,
    "sources.list": packages.sources_list,
    "sources.deb822": packages.sources_deb822,
    "repositories": packages.repositories,
    "stanzas": packages.stanzas,
    "dpkg": packages.dpkg,
    "keyring": packages.keyring,
    "ld.so.cache": packages.ldcache,
    "toml": documents.toml,
    "json": documents.json_document,
    "yaml": documents.yaml_document,
    "kubelet": kubelets.kubelet_document,
    "keys": rows.keys,
    "arguments": rows.arguments,
    "paths": rows.paths,
    "messages": rows.messages,
    "nccl.conf": conf_text,
    "slurm.conf": slurm_conf,
}


class _RecordedAnswers(NamedTuple):
    """A backend over the answers of a pass that is over."""

    answers: "Mapping[Question, Answer | Unread]"
    kind: Kind

    def ask(self, method: str, *arguments: str) -> "Answer | Unread":
        return self.answers.get((method, *arguments), Unread("not-recorded", " ".join((method, *arguments))))


def used(answers: "Mapping[Question, Answer | Unread]", kind: Kind) -> "dict[Question, Keep | None]":
    """What readers use of each answer; None where none of them says, or where they do not agree on its kind."""
    source = Source(_RecordedAnswers(answers, kind))
    collect(source, ALL_READERS)
    return {asked: merged(source.keeps.get(asked, ())) for asked in answers}


def kept(answers: "Mapping[Question, Answer | Unread]", kind: Kind, mask: Mask) -> "dict[Question, Answer | Unread]":
    """The answers with what was used of them: as ``Filtered``, or in full where all of it is. One that no reader claims is left out."""
    found: dict[Question, Answer | Unread] = {}
    for asked, keep in used(answers, kind).items():
        answer = answers[asked]
        if asked[0] in _OWN or isinstance(answer, Unread | Filtered) or keep == WHOLE:
            found[asked] = answer
        elif keep is not None and keep.kind in KINDS:
            found[asked] = filtered(asked, answer, keep, mask)
    return found


def refuse_too_much(answers: "Mapping[Question, Answer | Unread]") -> None:
    """More than can be loaded again is refused before time goes into it. Raises ``HostagentError``."""
    sizes = {asked: weight(answer) for asked, answer in answers.items()}
    if sum(sizes.values()) > _MOST_BYTES:
        largest = " ".join(max(sizes.items(), key=lambda pair: pair[1])[0])
        raise HostagentError(
            f"the answers take more than {_MOST_BYTES} bytes, wanted a snapshot of at most {MAX_BYTES}",
            f"Look why this is long: '{largest}'; then record again",
        )


def filtered(asked: Question, answer: Answer, keep: Keep, mask: Mask) -> "Filtered | Unread":
    """One answer. What its kind cannot take apart is an error, for readers cannot either."""
    apart = KINDS[keep.kind]
    try:
        if asked[0] == "run":
            return Filtered(_of_program(answer, lambda text: apart(text, keep.names, mask)), keep)
        return Filtered(apart(answer, keep.names, mask), keep)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:  # a tape may say anything
        return Unread("error", f"{asked[1] if len(asked) > 1 else asked[0]}: {error}")


def _of_program(answer: Answer, stdout: Callable[[bytes], bytes]) -> dict[str, Any]:
    """Of what a program says on standard error only errors are read."""
    program_output = cast("dict[str, Any]", answer)
    text = program_output["stdout"]
    left = stdout(text.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")
    lines_of = program_output["stderr"].strip()[:_ERROR_CHARACTERS].splitlines() if program_output["exit_code"] else []
    errors = [line[:_ERROR_CHARACTERS] for line in program_output["stderr"].splitlines() if line.startswith("error:")][:_ERRORS]
    return {
        "exit_code": program_output["exit_code"],
        "stdout": left or ("-\n" if text.strip() else ""),  # nothing of use is not nothing
        "stderr": "\n".join(dict.fromkeys([*lines_of, *errors])),
    }
