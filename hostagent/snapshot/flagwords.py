"""Filters of command lines: names of flags and variables stay, values of the named flags too, of others the type."""

import re
from collections.abc import Iterable, Iterator

from hostagent.core.answers import ARGUMENT_BYTES
from hostagent.snapshot.documents import DURATION

#: The name of a flag or of a variable.
_FLAG = re.compile(r"--[A-Za-z][\w.-]{0,80}|-[A-Za-z]")
_ASSIGNED = re.compile(r"([A-Za-z_]\w{0,80}=)(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{[A-Za-z_]\w{0,80}\}|[A-Za-z_]\w{0,80})")
_PLAIN = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[A-Za-z]{1,2}|%)?|true|false")
#: A kubelet that another program starts.
_KUBELET = re.compile(r"(?:/[\w./+-]{0,200}/)?kubelet")
_OWN_KEY = re.compile(r"(?:\A|\.)(?:kubernetes|k8s)\.io/")
_ADDRESS = re.compile(r"[0-9a-fA-F.:]{2,45}")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
#: Words of a text, with the quotes and blanks between them left where they are; a flag with a quoted value is one.
_WORD = re.compile(r"-[^\s\"'=]*=([\"'])[^\"'\n]*\1|[^\s\"']+")


def typed_words(words: Iterable[str], names: tuple[str, ...]) -> "list[str]":
    """The words of a command line.

    >>> typed_words(["/usr/bin/kubelet", "--config=/a", "--token", "x", "--v=2", "--max-pods", "9"], ("--config", "--max-pods"))
    ['/usr/bin/kubelet', '--config=/a', '--token', '~', '--v=2', '--max-pods', '9']
    >>> typed_words(["-psecret", "-v2", "-p=secret", "-config"], ())
    ['-p~', '-v2', '-p=~', '-c~']
    """
    found, is_kept = list[str](), False
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        is_flag = bool(_FLAG.fullmatch(name))
        if is_kept and not word.startswith("-"):
            found.append(word)
        elif is_flag and equals:
            quote = value[:1] if value[:1] in {'"', "'"} else ""
            found.append(word if name in names else f"{name}={quote}{_type(value.strip(quote)) if quote else _type(value)}{quote}")
        elif is_flag or (number == 0 and word.startswith("/")) or _KUBELET.fullmatch(word):
            found.append(word)
        elif word.startswith("-") and _FLAG.fullmatch(word[:2]):
            found.append(word[:2] + _type(word[2:]))
        else:
            found.append(_type(word))
        is_kept = is_flag and not equals and name in names
    return found


def _type(value: str) -> str:
    """A number, a truth value, a duration or a variable as it is; of any other text that it is one, and that it was cut.

    Of lists and maps the parts, with keys that Kubernetes itself has; of an address that it is one.

    >>> _type("10s"), _type("${X}"), _type("secret"), _type("a=b,node.kubernetes.io/x=y"), _type("k=v:NoSchedule")
    ('10s', '${X}', '~', '~=~,node.kubernetes.io/x=~', '~=~:NoSchedule')
    """
    if len(value) >= ARGUMENT_BYTES // 2:
        return "~" * len(value)
    return ",".join(map(_part, value.split(",")))


def _part(text: str) -> str:
    """One of them.

    >>> _part("a=b=c:NoSchedule:NoExecute"), _part("=" * 2000) == "~=" * 2000
    ('~=~=~:NoSchedule:NoExecute', True)
    """
    keys, effects = list[str](), ""
    while "=" in text and not _is_plain(text):
        key, _, text = text.partition("=")
        keys.append(f"{key if _OWN_KEY.search(key) else '~'}=")
    while not _is_plain(text) and (found := text.rpartition(":"))[2] in _EFFECTS and found[1]:
        text, effects = found[0], f":{found[2]}{effects}"
    shown = text if _is_plain(text) else _address(text) if _ADDRESS.fullmatch(text) else "~"
    return f"{''.join(keys)}{shown}{effects}"


def _is_plain(text: str) -> bool:
    return not text or any(kind.fullmatch(text) for kind in (_PLAIN, DURATION, _VARIABLE))


def _address(text: str) -> str:
    from ipaddress import ip_address

    try:
        return "192.0.2.1" if ip_address(text).version == 4 else "2001:db8::1"
    except ValueError:
        return "~"


def typed_text(text: str, names: tuple[str, ...]) -> str:
    """The same for a text of words: quotes, blanks and the names of variables stay where they are.

    >>> typed_text('KUBELET_ARGS="--config=/a --token x" TOKEN=y --a="b c"', ("--config",))
    'KUBELET_ARGS="--config=/a --token ~" TOKEN=~ --a="~"'
    """
    pieces = list(_WORD.finditer(text))
    words = [piece[0] for piece in pieces]
    assigned = [_ASSIGNED.fullmatch(word) for word in words]
    bare = typed_words((found[2] if found else word for found, word in zip(assigned, words, strict=True)), names)
    shown, end = list[str](), 0
    for piece, found, word in zip(pieces, assigned, bare, strict=True):
        shown += [text[end : piece.start()], found[1] if found else "", word]
        end = piece.end()
    return "".join([*shown, text[end:]])


def flags(data: bytes, names: tuple[str, ...], mask: object) -> bytes:
    r"""A file of shell variables, or of flags one to a line.

    >>> flags(b'# x\nKUBELET_EXTRA_ARGS="--config=/a"\nTOKEN=x\n', ("--config",), str)
    b'KUBELET_EXTRA_ARGS="--config=/a"\nTOKEN=~\n'
    """
    return "".join(_lines(data.decode("utf-8", "surrogateescape"), names)).encode("utf-8", "surrogateescape")


def _lines(text: str, names: tuple[str, ...]) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith(("#", ";")):
            yield f"{typed_text(line, names)}\n"
