"""The file of --config and the drop-ins of --config-dir: which the kubelet accepts, and its errors for others."""

# A --config-dir that is itself a link is not walked, a link in it to a directory neither; a directory called x.conf is
# (filepath.WalkDir). At most 100 levels and 200,000 values with those of aliases; beyond that the configuration is unread, not
# rejected.

import functools
import json
from typing import Any, NamedTuple, NoReturn

from hostagent.core.unread import Unread, need
from hostagent.domains.kubelet.config.golang import quoted
from hostagent.domains.kubelet.config.values import Members, TooLargeError, again, as_json, kind_of, parse_go_json, plain, twice
from hostagent.domains.kubelet.tables.defaults import API_VERSION, KIND, OTHER_KINDS

#: A document that did not decode is recorded as this and the error.
_KEPT_ERROR = b"\0"
#: A member that a recorded document may begin with: the errors of strict parsing.
_STRICT = "\0strict"
_SPACE = b" \t\n\v\f\r\x85\xa0"


class Document(NamedTuple):
    """`strict`: errors of strict parsing only."""

    value: Any
    strict: tuple[str, ...]


def parse_document(data: bytes) -> Document:
    """JSON where the first letter is a brace, else YAML; raises ``ValueError`` in the parser's words, ``TooLargeError``.

    >>> parse_document(b'{"maxPods": 1, "maxPods": 2}').strict
    ('duplicate field "maxPods"',)
    """
    if data.startswith(_KEPT_ERROR):
        _raise(data.decode("utf-8", "replace")[1:])
    if data.lstrip(_SPACE).startswith(b"{"):
        try:
            value = parse_go_json(data)
        except ValueError as error:
            raise again(error, f"couldn't get version/kind; json parse error: {error}") from error
        if isinstance(value, Members) and value and value[0][0] == _STRICT:
            return Document(Members(value[1:]), _kept_strict(value[0][1]))
        return Document(value, tuple(f"duplicate field {quoted(path)}" for path in twice(value)))
    from hostagent.domains.kubelet.config.goyaml import parse_go_yaml

    value, strict = parse_go_yaml(data)
    return Document(value, (f"yaml: unmarshal errors:\n  {chr(10).join(strict)}",) if strict else ())


@functools.lru_cache(maxsize=8)
def parsed(data: bytes) -> Document:
    """Cached: parsed once for all callers and all versions; not to be modified."""
    return parse_document(data)


def _kept_strict(text: Any) -> tuple[str, ...]:
    try:
        return (bytes.fromhex(str(text)[1:]).decode("utf-8", "replace"),)
    except ValueError:  # a member of the document itself
        return ()


def _raise(text: str) -> NoReturn:
    raise TooLargeError(text[1:]) if text.startswith("\0") else ValueError(text)


def decode_error(data: bytes) -> str:
    """Why a document does not decode, "" where it does. A zero byte and this are as good as the document to `parse_document`."""
    try:
        parse_document(data)
    except ValueError as error:
        return f"\0{error}" if isinstance(error, TooLargeError) else str(error)
    return ""


def document_bytes(document: Document) -> bytes:
    r"""A document that `parse_document` reads as this one: JSON, with the errors of strict parsing of YAML in hexadecimal.

    >>> parse_document(document_bytes(parse_document(b"a: 1\na: 2\n"))).strict
    ('yaml: unmarshal errors:\n  line 2: key "a" already set in map',)
    """
    value = document.value
    if document.strict and not twice(value):
        value = Members([(_STRICT, f"x{', '.join(document.strict).encode().hex()}"), *(value or ())])
    return (as_json(value) if isinstance(value, Members) else json.dumps(value) if not isinstance(value, list) else as_json(value)).encode()


def documents_of(path: str, data: bytes) -> Document:
    """The file of --config, with its kind checked; raises ``ValueError``. Unknown and repeated fields are allowed in it."""
    if not data:
        raise ValueError(f'kubelet config file "{path}" was empty')
    try:
        document, group, kind = _typed(data)
    except ValueError as error:
        raise again(error, f"failed to decode: {error}") from error
    if kind != KIND:
        raise ValueError(f"failed to cast object to KubeletConfiguration, unexpected type: {group}, Kind={kind}")
    return document


def _typed(data: bytes) -> tuple[Document, str, str]:
    document = parsed(data)
    group, kind = _what(document.value)
    for name, value in (("Kind", kind), ("apiVersion", group)):
        if not value:
            raise ValueError(f"Object '{name}' is missing")
    if group != API_VERSION or (kind != KIND and kind not in OTHER_KINDS):
        raise ValueError(f"no kind {quoted(kind)} is registered for version {quoted(group)}")
    return document, group, kind


def dropin_of(path: str, content: bytes | Unread, *, by_name: bool) -> dict[str, Any]:
    """A drop-in as a patch; raises ``ValueError`` for repeated fields, not for unknown ones.

    `by_name`: versions from which a drop-in must have the right apiVersion and kind; before, any kind will do.
    """
    if isinstance(content, Unread) and content.why == "absent":
        raise ValueError(f"lstat {path}: no such file or directory")
    before, data = f"failed to load kubelet dropin file, path: {path}, ", need(content)
    try:
        document, group, kind = _untyped(path, data)
    except ValueError as error:
        raise again(error, f"{before}error: failed to load drop-in kubelet config file {path}, error {error}") from error
    if by_name and (group, kind) != (API_VERSION, KIND):
        raise ValueError(f"{before}unknown apiVersion/kind: {group if '/' in group else f'/{group}'}, Kind={kind}")
    patch: dict[str, Any] = plain(document.value)
    return patch


def _untyped(path: str, data: bytes) -> tuple[Document, str, str]:
    if not data:
        raise ValueError(f'kubelet config file "{path}" was empty')
    document = parsed(data)
    group, kind = _exactly(document.value)
    if not kind:
        raise ValueError("Object 'Kind' is missing")
    if document.strict:
        raise ValueError(f"strict decoding error: {', '.join(document.strict)}")
    return document, group, kind


def _what(value: Any) -> tuple[str, str]:
    """ApiVersion and kind, whatever the case of their letters; the last of each."""
    if value is None:
        return "", ""
    if not isinstance(value, Members):
        what = f"json: cannot unmarshal {kind_of(value)} into Go value of type struct"
        raise ValueError(f"couldn't get version/kind; json parse error: {what}")  # noqa: TRY004  in Go's words
    found = {"apiversion": "", "kind": ""}
    for key, member in value:
        if key.lower() in found and member is not None:
            if not isinstance(member, str):
                raise ValueError(
                    f"couldn't get version/kind; json parse error: json: cannot unmarshal into Go struct field .{key} of type string"
                )
            found[key.lower()] = member
    _check_group(found["apiversion"])
    return found["apiversion"], found["kind"]


def _exactly(value: Any) -> tuple[str, str]:
    """ApiVersion and kind as written; raises as `_what` does."""
    _what(value)
    last = dict(value or ())
    group, kind = last.get("apiVersion"), last.get("kind")
    return group if isinstance(group, str) else "", kind if isinstance(kind, str) else ""


def _check_group(group: str) -> None:
    if group.count("/") > 1:
        raise ValueError(f"couldn't get version/kind; json parse error: unexpected GroupVersion string: {group}")
