"""A setting stands twice in one conf file: NCCL takes the first line, and not the last one as a shell does.

Whoever adds a line at the end of the file changes nothing. What the job's environment sets wins over all files, which is as it should be.
"""

from hostagent.check import Findings, Step, check, need, warn
from hostagent.domains.nccl.settings import ENVIRONMENT
from hostagent.facts.nccl import Nccl

from ._job import job, place


@check(
    title="Each NCCL setting stands once in its file",
    severity="info",
    scope="fabric",
    since="0.1",
    headline="NCCL ignores {found}",
    remedy=(Step("configure", "Leave one of the lines, with the value that is meant."),),
    references=("NCCL documentation, environment variables",),
    confirm=("grep -n NCCL /etc/nccl.conf",),
)
def repeated(nccl: Nccl) -> Findings:
    job(nccl)
    firsts: dict[tuple[str, str], str] = {}
    for setting in need(nccl.settings):
        if setting.origin == ENVIRONMENT or not setting.is_known:
            continue
        first = firsts.setdefault((setting.origin, setting.name), setting.value)
        if first != setting.value:
            shown = f"{setting.name}={setting.value}"
            text = f"{place(setting)} sets {shown}, and an earlier line of that file {first!r}, which counts"
            yield warn(text, code="later-line", found=f"{shown} in line {setting.line}", wanted="one line", evidence=(place(setting),))
