"""Tracebacks of a run's crashes for standard error; the report has them as evidence of its findings."""

from collections.abc import Iterator

from hostagent import REPORT_BUGS_TO
from hostagent.core.escape import visible
from hostagent.engine.report import Report


def tracebacks(report: Report) -> Iterator[str]:
    """One text per crash, of several lines, with the address for bug reports; none without a crash.

    A reader that crashed leaves one traceback for all the checks that it stopped.
    """
    stopped: dict[tuple[str, ...], list[str]] = {}
    for one in report.findings:
        if one.outcome == "unknown" and one.evidence:  # only a crash leaves an unknown with evidence
            stopped.setdefault((one.message, *one.evidence), []).append(one.id)
    for (message, *lines), names in stopped.items():
        head = f"{', '.join(dict.fromkeys(names))}: {message}"
        end = f"This is a bug in hostagent or in the check's catalogue: please report it to {REPORT_BUGS_TO} with the lines above."
        yield "\n".join((visible(head), *(f"  {visible(line)}" for line in lines), end))
