"""Secrets in configuration, command lines and logs: their values leave, the syntax around them stays.

No grammar is parsed: evidence is JSON, TOML, YAML, units and free text, damaged or not, and has to stay what it is.
What is no string (``{``, ``[``, ``null``, ``true``) therefore stays, a quoted string keeps its quotes.
"""

import re
from collections.abc import Sequence

REMOVED = "<removed>"
_WORD = (
    r"(?:token|passw(?:or)?d|passphrase|secret|credentials?|username|(?:api|access|private|encryption|shared)[_-]?key"
    r"|auth(?:orization)?(?![\w-]))"  # not author, authorization-mode, authorization-plugins
)
#: What follows a word and says that the value is where a secret is, or how it is used.
_HARMLESS = re.compile(r"(?i)(?:file|path|dir|helpers?|provider|webhook|ttl|timeout|mode|types?|plugins?|config|enabled)$")
_KEY = rf"(?P<key>{_WORD}(?P<tail>[\w-]{{0,60}}))"
#: In ``["TOKEN=", "x"]`` the quote after ``=`` opens nothing: what follows it, and what follows the next quote, tell.
_QUOTED = (
    r"(?:(?!(?<=[=:])[\"']\s{0,200}[,\]}])(?:\"(?:[^\"\\\n]|\\[^\n])*\"|'(?:[^'\n]|'')*')|\\{1,7}\"[^\"\\\n]*\\{1,7}\")(?=[\s,;}\])]|\\n|$)"
)
_PLAIN = r"[^\s\"'\[\]{},;|>&*!%@`\\][^\s\"'\[\]{},;\\]*"
_SCHEMES = r"(?:Basic|Bearer|Digest|Negotiate)"
#: JSON's key has its quote before the colon; a bare key wants a blank after it, for libsecret-1-0:amd64 is a package.
_SEPARATOR = (
    r"(?:\\{0,7}[\"'][ \t]{0,200}[:=](?:\s{0,200}(?=[\\\"'])|[ \t]{0,200})"
    r"|[ \t]{0,200}=[ \t]{0,200}|[ \t]{0,200}:(?:[ \t]{1,200}|(?=[\"'])))"
)

_VALUE = re.compile(rf"(?i){_KEY}(?P<between>{_SEPARATOR})(?P<value>{_QUOTED}|{_SCHEMES}[ \t]+{_PLAIN}|{_PLAIN})")
_LIST = re.compile(rf"(?i){_KEY}(?P<between>{_SEPARATOR}\[)(?P<value>(?:[\s,]*(?:{_QUOTED}|{_PLAIN}))+)")
_ITEM = re.compile(rf"{_QUOTED}|{_SCHEMES}[ \t]+{_PLAIN}|{_PLAIN}")
#: ``"TOKEN=a b"``: a string of an env list.
_INSIDE = re.compile(
    rf"(?i)(?P<quote>(?<!\\)[\"'])(?P<start>[\w.-]{{0,60}}?{_KEY}[=:][ \t]*)(?P<value>(?:(?!(?P=quote))[^\\\n]|\\[^\n])+)(?=(?P=quote))"
)
#: A whole line, as YAML, INI and environment files write it: blanks and commas are part of the value.
_LINE = re.compile(
    rf"(?im)^(?P<start>[ \t]{{0,200}}(?:- +|export +|# *)?[\w.-]{{0,60}}?{_KEY}"
    r"(?:[ \t]*=[ \t]*(?=[^\s\"'\[{])|[ \t]*:[ \t]+(?=[^\s\"'\[\]{},;|>&*!%@`#])))(?P<value>\S[^\n]*)"
)
#: YAML's ``token: |`` with the lines below it.
_BLOCK = re.compile(
    rf"(?im)^(?P<start>(?P<indent> {{0,200}})(?P<dash>- )?[\"']?[\w.-]{{0,60}}?{_KEY}[\"']?[ \t]*:[ \t]+[|>][-+\d]*[ \t]*\n)"
    r"(?P<value>(?:(?P=indent)(?(dash)  ) +\S[^\n]*(?:\n|\Z)|[ \t]*\n)+)"
)
#: Between a flag and its value: a blank, the next string of a list, the next line of a unit, the next item of a YAML list.
_NEXT = r"(?:[ \t]+|\\{0,7}[\"'],\s{0,200}|[\"']?[ \t]*\\\n\s{0,200}|[\"']?\n[ \t]{0,200}- )"
_FLAG = re.compile(rf"(?i)(?P<flag>(?<![\w-])--?[\w-]{{0,60}}?{_KEY}{_NEXT})(?P<value>{_QUOTED}|(?!-){_PLAIN})")
_BEARER = re.compile(r"(?i)(?<=[\"'\s:=])(Bearer[ \t]+)([\w.~+/=-]{8,})")
_BASIC = re.compile(r"(?i)(?<=[\"':=])( ?Basic[ \t]+)([\w.~+/=-]{8,})(?=[\"'\\]|[ \t]*$)", re.MULTILINE)
_PEM = re.compile(r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)(?:[^-]|-(?!----))*(-----END [A-Z ]{0,40}PRIVATE KEY-----)")
#: The whole authority up to its last @: a password may hold one. The second form has a password with a slash in it.
_CREDENTIALS = re.compile(r"(?<=://)(?:[^/\s\"'\\]+|[^/\s\"'\[\]:@\\]*:(?!\d*/)[^\s\"',\\]*)(?=@)")
_NO_STRING = re.compile(
    r"(?i)[-+]?(?:true|false|yes|no|on|off|none|null|~|\.?inf|\.?nan|\d[\d_]*(?:\.[\d_]+)?(?:e[-+]?\d+)?|0x[\da-f_]+|0[ob][0-7_]+"
    r"|\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[-+][\d:]+)?)?|\d\d:\d\d:\d\d(?:\.\d+)?)"
)
_ARGUMENT = re.compile(rf"(?i)^--?[\w-]{{0,60}}?{_KEY}$")
#: Here -t is --token.
_SHORT_TOKEN = frozenset({"k3s", "rke2"})


def without_secrets(text: str) -> str:
    r"""`text` without the values of passwords, tokens and keys.

    >>> without_secrets('auth = {username = "svc", password = "a b"}')
    'auth = {username = "<removed>", password = "<removed>"}'
    >>> without_secrets('deb https://bob:pw@mirror/ x')
    'deb https://<removed>@mirror/ x'
    """
    text = _PEM.sub(rf"\1{REMOVED}\2", text)
    text = _CREDENTIALS.sub(REMOVED, text)
    text = _BLOCK.sub(_block, text)
    text = _INSIDE.sub(lambda found: _put(found, found["quote"] + found["start"]), text)
    text = _LINE.sub(_line, text)
    text = _LIST.sub(_list, text)
    text = _VALUE.sub(lambda found: _put(found, found["key"] + found["between"]), text)
    text = _FLAG.sub(lambda found: _put(found, found["flag"]), text)
    return _BASIC.sub(rf"\1{REMOVED}", _BEARER.sub(rf"\1{REMOVED}", text))


def without_secret_arguments(argv: Sequence[str]) -> "list[str]":
    """A command line is evidence, what follows ``--token`` is not.

    >>> without_secret_arguments(["k3s", "agent", "--token", "K10", "-t", "K10", "--node-ip=::1"])
    ['k3s', 'agent', '--token', '<removed>', '-t', '<removed>', '--node-ip=::1']
    """
    short = bool(argv) and argv[0].rpartition("/")[2].partition(" ")[0] in _SHORT_TOKEN
    shown: list[str] = []
    is_secret = False
    for argument in argv:
        if is_secret and argument:
            shown.append(REMOVED)
            is_secret = False
            continue
        is_secret = _is_secret(argument) or (short and argument == "-t")
        name, separator, value = argument.partition("=")
        hides = separator and ((short and name == "-t") or _is_secret(name if name.startswith("-") else f"--{name}"))
        hides = hides and not _NO_STRING.fullmatch(value)
        shown.append(f"{name}={REMOVED}" if hides else without_secrets(argument))
    return shown


def _is_secret(flag: str) -> bool:
    found = _ARGUMENT.search(flag)
    return bool(found and not _HARMLESS.search(found["tail"]))


def _put(found: "re.Match[str]", before: str) -> str:
    """The match with its value removed."""
    return found[0] if _HARMLESS.search(found["tail"]) else before + _hidden(found["value"], is_whole=not found["tail"])


def _hidden(value: str, *, is_whole: bool) -> str:
    """`value` with its quotes; of what is no string only the digits of a password proper go: JSON and TOML know no other."""
    quoted = re.fullmatch(r"(\\*[\"'])(.*?)(\\*[\"'])", value)
    if quoted:
        return f"{quoted[1]}{REMOVED}{quoted[3]}" if quoted[2] else value
    if _NO_STRING.fullmatch(value):
        return "0" if is_whole and value[-1].isdigit() else value
    return REMOVED


def _list(found: "re.Match[str]") -> str:
    if _HARMLESS.search(found["tail"]):
        return found[0]
    return found["key"] + found["between"] + _ITEM.sub(lambda item: _hidden(item[0], is_whole=False), found["value"])


def _line(found: "re.Match[str]") -> str:
    """A comment and the end of a flow mapping stay."""
    value = found["value"].partition(" #")[0].rstrip(" \t\r,}]")
    if not value or _HARMLESS.search(found["tail"]):
        return found[0]
    return found["start"] + _hidden(value, is_whole=not found["tail"]) + found["value"][len(value) :]


def _block(found: "re.Match[str]") -> str:
    return found[0] if _HARMLESS.search(found["tail"]) else f"{found['start']}{found['indent']}    {REMOVED}\n"
