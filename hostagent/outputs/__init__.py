"""Output formats of a report. Rendering is pure, delivering is I/O; one module per format, imported on demand."""

from typing import Any, Literal, get_args

from hostagent.engine.report import Report
from hostagent.engine.report.exit_code import Asked

Format = Literal["text", "json", "html", "junit", "prometheus", "line", "summary"]
FORMATS: tuple[Format, ...] = get_args(Format)


def render(report: Report, form: Format, *, asked: Asked | None = None, **look: Any) -> str:
    """`report` in one of the formats. `asked` is for ``junit``: what fails there; `look` is that of `render_text`, for ``text``."""
    if form == "json":
        from hostagent.outputs.json import render_json

        return render_json(report)
    if form == "html":
        from hostagent.outputs.html import render_html

        return render_html(report)
    if form == "junit":
        from hostagent.outputs.junit import render_junit

        return render_junit(report, asked or Asked())
    if form == "prometheus":
        from hostagent.outputs.prometheus import render_prometheus

        return render_prometheus(report)
    if form == "line":
        from hostagent.outputs.line import render_line

        return render_line(report)
    if form == "summary":
        from hostagent.outputs.summary import render_summary

        return render_summary(report)
    from hostagent.outputs.text import render_text

    return render_text(report, **look)
