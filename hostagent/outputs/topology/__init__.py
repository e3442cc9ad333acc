"""Output formats of the document of ``hostagent topology``, one module per format, imported on demand. Pure."""

from typing import Literal, get_args

from hostagent.outputs.topology.document import Document

Format = Literal["text", "json", "svg", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)


def render_topology(document: Document, form: Format, *, colour: bool = False, width: int = 100) -> str:
    """`document` in one of the formats. `colour` and `width` are for ``text``."""
    if form == "json":
        from hostagent.outputs.json import render_json

        return render_json(document)
    if form == "svg":
        from hostagent.outputs.topology.svg import render_svg

        return render_svg(document)
    if form == "html":
        from hostagent.outputs.topology.html import render_html

        return render_html(document)
    from hostagent.outputs.topology.text import render_text

    return render_text(document, colour=colour, width=width)
