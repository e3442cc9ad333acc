"""Parses ``--pod``: a shape, or the pods of a file."""

from collections.abc import Iterator
from typing import Any

import click

from hostagent.cli.options import STANDARD
from hostagent.core.smallfile import read_small, read_standard_input, reason
from hostagent.domains.kubelet.placement.pods import Pod

#: Bytes of a manifest.
_MOST_BYTES = 1_000_000
_MOST_PODS = 100


def pods_of(asked: tuple[str, ...]) -> tuple[Pod, ...]:
    """The pods that the options name, in order. Raises ``click.UsageError`` with what was found and wanted."""
    if asked.count(STANDARD) > 1:
        raise click.UsageError("found --pod - twice, wanted at most one manifest from standard input")
    found = tuple(pod for text in asked for pod in ([_shape(text)] if "=" in text else _file(text)))
    if len(found) > _MOST_PODS:
        raise click.UsageError(f"found {len(found)} pods, wanted at most {_MOST_PODS}")
    return found


def _shape(text: str) -> Pod:
    from hostagent.domains.kubelet.placement import parse_shape

    try:
        return parse_shape(text)
    except ValueError as error:
        raise click.UsageError(f"--pod {text!r:.80}: {error}") from error


def _file(path: str) -> list[Pod]:
    if not path:
        raise click.UsageError("found --pod '', wanted a shape such as gpus=8,cpus=96,memory=1Ti, or a file")
    label = "standard input" if path == STANDARD else path
    documents = [*_documents(path, label)]
    if not documents:
        raise click.UsageError(f"--pod {label}: found no document, wanted a Pod or an object with a pod template")
    found, wrong = list[Pod](), list[str]()
    for document in documents:
        _add(document, label, found, wrong, several=len(documents) > 1)
    if wrong or not found:
        raise click.UsageError(f"--pod {label}: {wrong[0] if wrong else 'found no pod, wanted a Pod or an object with a pod template'}")
    return found


def _add(document: Any, label: str, found: list[Pod], wrong: list[str], *, several: bool) -> None:
    """One document's pods. Of several, those that have none (a Service) are passed over."""
    from hostagent.domains.kubelet.placement import pods_in

    if several and not _has_pod(document):
        return
    try:
        found += pods_in(document, label)
    except ValueError as error:
        wrong.append(str(error))


def _has_pod(document: Any) -> bool:
    """Whether the document has containers or a pod template: then its mistakes are reported."""
    left, seen = [document], 0
    while left and seen < 10_000:
        one, seen = left.pop(), seen + 1
        if isinstance(one, dict):
            if "containers" in one or "template" in one or one.get("kind") == "Pod":
                return True
            left += one.values()
        elif isinstance(one, list):
            left += one
    return False


def _documents(path: str, label: str) -> Iterator[Any]:
    """The documents of a file of YAML or JSON, those that are empty left out."""
    from hostagent.core.yamlfile import YamlError, foreign_documents

    try:
        data = read_standard_input(_MOST_BYTES) if path == STANDARD else read_small(path, _MOST_BYTES)
    except OSError as error:
        raise click.UsageError(f"--pod {label}: {reason(error)}; wanted is a shape such as gpus=8, or a file with a pod") from error
    try:
        yield from (document for document in foreign_documents(_split(data)) if document is not None)
    except YamlError as error:
        raise click.UsageError(f"--pod {label}: {error}, wanted YAML or JSON") from error


def _split(data: bytes) -> list[bytes]:
    """At the lines that are ``---``, as kubectl splits a manifest."""
    made: list[list[bytes]] = [[]]
    for line in data.splitlines(keepends=True):
        if line.rstrip() == b"---" or line.startswith(b"--- "):
            made.append([line[3:]] if line.startswith(b"--- ") else [])
        else:
            made[-1].append(line)
    return [b"".join(lines) for lines in made]
