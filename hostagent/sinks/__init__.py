"""What a report is turned into. Rendering is pure, delivering is I/O; one module a form, imported when asked for."""

from typing import Literal, get_args

from hostagent.report import Report

Format = Literal["text", "json", "html", "junit", "prometheus", "line"]
FORMATS: tuple[Format, ...] = get_args(Format)


def render(report: Report, form: Format, *, colour: bool = False, width: int = 100, verbose: bool = False) -> str:
    """`report` as text of one of the forms. Colour, width and verbose (what passed, too) are for ``text`` alone."""
    if form == "json":
        from hostagent.sinks.json import render_json

        return render_json(report)
    if form == "html":
        from hostagent.sinks.html import render_html

        return render_html(report)
    if form == "junit":
        from hostagent.sinks.junit import render_junit

        return render_junit(report)
    if form == "prometheus":
        from hostagent.sinks.prometheus import render_prometheus

        return render_prometheus(report)
    if form == "line":
        from hostagent.sinks.line import render_line

        return render_line(report)
    from hostagent.sinks.text import render_text

    return render_text(report, colour=colour, width=width, verbose=verbose)
