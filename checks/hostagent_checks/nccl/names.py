"""A setting with a name that NCCL does not read: it is ignored, and nothing says so.

A name may be misspelt, of another version, or not be written as NCCL reads it: in a conf file all before the first "=" is the name, with
blanks and with the word export. Names that plug-ins and PyTorch read are none of NCCL's, and are passed over.
"""

from collections.abc import Iterator

from hostagent.check import Finding, Findings, Step, check, fail, need, warn
from hostagent.domains.nccl.devices import version
from hostagent.domains.nccl.nearest import nearest, written
from hostagent.domains.nccl.tables.variables import LONG_GONE, read_by, variables
from hostagent.facts.nccl import Nccl, NcclSetting

from ._job import job, place

_LINE = 90


@check(
    title="NCCL reads each of its settings",
    severity="warning",
    scope="fabric",
    since="0.1",
    headline="NCCL does not read {found}",
    remedy=(Step("configure", "Correct the name, or take the line out."),),
    references=("NCCL documentation, environment variables",),
    confirm=("grep -n NCCL /etc/nccl.conf",),
)
def names(nccl: Nccl) -> Findings:
    job(nccl)
    found = version(nccl)
    for setting in need(nccl.settings):
        name = written(setting.name)
        if not setting.wins or not name or read_by(name):
            continue
        where = (place(setting),)
        if name != setting.name:
            text = f"{where[0]} sets {setting.name!r}: NCCL takes all before the first = for the name"
            yield fail(text, code="written", found=repr(setting.name), wanted=name, evidence=where, remedy=_right(name))
        elif name in variables():
            yield from _of_version(setting, need(found))
        elif name in LONG_GONE:
            text = f"{where[0]} sets {name}, which NCCL has not read since 2.18 or longer"
            yield warn(text, code="version", found=name, wanted="unset", evidence=where, at_most="info")
        elif meant := nearest(name):
            text = f"{where[0]} sets {name}, which NCCL does not know"
            yield fail(text, code="unknown", found=name, wanted=meant, evidence=where, remedy=_right(meant))
        else:
            text = f"{where[0]} sets {name}, which no version of NCCL that is known here reads"
            yield warn(text, code="foreign", found=name, wanted="a name of NCCL", evidence=where, at_most="info")
    need(found)


def _right(name: str) -> tuple[Step]:
    text = f"Write {name}=… where it stands, without blanks."
    return (Step("configure", text if len(text) <= _LINE else "Correct the name where it stands, without blanks."),)


def _of_version(setting: NcclSetting, found: "tuple[int, int, int] | None") -> Iterator[Finding]:
    """A job that brings its own library brings one that nobody knows here."""
    one = variables()[setting.name]
    if found is None or one.known_to(found):
        return
    ours, where = _text(found), (place(setting),)
    is_older = found < one.since
    known = f"NCCL {_text(one.since)} or newer" if is_older or one.until is None else f"NCCL up to {_text(one.until)}"
    text = f"{where[0]} sets {setting.name}, which NCCL {ours} does not read"
    yield warn(text, code="version", found=f"{setting.name} in version {ours}", wanted=known, evidence=where, at_most="info")


def _text(found: tuple[int, int, int]) -> str:
    return ".".join(map(str, found))
