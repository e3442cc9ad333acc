"""Removes values of secrets by their names in configuration, command lines and logs; the syntax around them stays.

No grammar is parsed: evidence is JSON, TOML, YAML, units and free text, damaged or not, and has to keep its format.
So values that are no string (``{``, ``[``, ``null``, ``true``) stay, and a quoted string keeps its quotes.

Linear time for any text: names of secrets are found in one pass; each match examines a bounded piece before it, and after it no more
than a value, which is then skipped. A candidate that is no value ends at the next quote, so that it is scanned only a few times. Where
two patterns could both match a run of blanks, one is bounded.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from hostagent.core.secret.forms import REMOVED, without_tokens

_WORD = (
    r"(?:token|rootpw|passw(?:or)?d|passphrase|secret|credentials?|username|(?:api|access|private|encryption|shared)[_-]?key"
    r"|auth(?:orization)?(?![\w-])|auth_config"  # not author, authorization-mode, authorization-plugins
    r"|(?<![A-Za-z0-9])(?:pass|pw|pwd|pat|psk|creds?|cookies?|jwt|bearer|user|login|serial(?:[ _-]?(?:number|no))?|art-api)(?![\w-])"
    r"|key(?![\w-])|password_pbkdf2[ \t]+[\w-]{1,64}(?=[ \t]))"  # whatever kind of key
)
_NAME = re.compile(rf"(?i){_WORD}(?P<tail>[\w-]*)")
#: Suffixes after which the value is the place of a secret, or how it is used.
_HARMLESS = re.compile(r"(?i)(?:file|path|dir|helpers?|provider|webhook|ttl|timeout|mode|types?|plugins?|config|enabled)$")
#: A name may begin before its word: HTTP_PASSWORD, registry.auth, --agent-token.
_STEM = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_STEM_CHARACTERS = 60
_LINE_CHARACTERS = 300

_QUOTED = r"(?:\"(?:[^\"\\\n]|\\[^\n])*\"|'(?:[^'\n]|'')*'|\\{1,7}\"[^\"\\\n]*\\{1,7}\")(?=[\s,;}\])]|\\n|$)"
_PLAIN_MORE = r"[^\s\"'\[\]{},;\\]"
_PLAIN = rf"[^\s\"'\[\]{{}},;|>&*!%@`\\]{_PLAIN_MORE}*"
_SCHEMES = r"(?:Basic|Bearer|Digest|Negotiate)"
#: JSON's key has its quote before the colon; an unquoted key needs a space after ':', so that the
#: package name libsecret-1-0:amd64 does not match.
_SEPARATOR = (
    r"(?:\\{0,7}[\"'][ \t]{0,200}[:=](?:\s{0,200}(?=[\\\"'])|[ \t]{0,200})"
    r"|[ \t]{0,200}=[ \t]{0,200}|[ \t]{0,200}:(?:[ \t]{1,200}|(?=[\"'])))"
)

#: What follows a name, by form.
_VALUE = re.compile(rf"(?i)(?P<before>{_SEPARATOR})(?P<value>{_QUOTED}|{_SCHEMES}[ \t]+{_PLAIN}|{_PLAIN})")
_BEHIND = re.compile(rf"(?P<before>[ \t]{{1,200}})(?P<value>{_QUOTED})")
#: The last quote of a truncated text, and the value after it without closing brackets.
_UNCLOSED = re.compile(rf"(?P<before>{_SEPARATOR})(?P<value>[\"'][^\"'\\\n]*[^\"'\\\n\s,\]}}])(?=[ \t,\]}}]*\Z)")
_LIST = re.compile(rf"{_SEPARATOR}\[")
#: The next item, on the same line, or on a later one where it has to look like one: without ``]`` it may be no list. YAML's ``it's``
#: opens no string.
_ITEMS = (
    re.compile(rf"(?i)(?P<before>[ \t,]*)(?P<value>(?<=[\s,\[]){_QUOTED}|{_SCHEMES}[ \t]+{_PLAIN}|{_PLAIN})"),
    re.compile(rf"(?P<before>[\s,]*)(?P<value>(?<=[\s,\[]){_QUOTED}(?![ \t]*[:=])|{_PLAIN}(?=\s*[,\]]))"),
)
#: ``"TOKEN=a b"``: a string of an env list.
_INSIDE = {
    quote: re.compile(rf"(?P<before>[ \t]{{0,200}}[=:][ \t]*(?![ \t]))(?P<value>(?:[^{quote}\\\n]|\\[^\n])+)(?={quote})")
    for quote in ("'", '"')
}
#: A whole line, as YAML, INI and environment files write it: blanks and commas are part of the value.
_LINE_START = re.compile(r"[ \t]{0,200}(?:- +|export +|# *)?")
_LINE = re.compile(r"(?P<before>[ \t]*=[ \t]*(?=[^\s\"'\[{])|[ \t]*:[ \t]+(?=[^\s\"'\[\]{},;|>&*!%@`#]))(?P<value>\S[^\n]*)")
#: YAML's ``token: |`` with the lines below it.
_BLOCK_START = re.compile(r"(?P<indent> {0,200})(?P<dash>- )?[\"']?")
_BLOCK = re.compile(r"[\"']?[ \t]*:[ \t]+[|>][-+\d]*[ \t]*\n")
_BLOCK_LINE = re.compile(r"(?P<indent> *)(?P<text>[^\n]*)\n?")
#: Between a flag and its value: a blank, or the next line of a unit; the next string of a list; the next item of a YAML list. In the
#: last two a key is no value.
_FLAGS = tuple(
    re.compile(rf"(?i)(?P<before>{between})(?P<value>{value})")
    for between, value in (
        (r"[ \t]+|[\"']?[ \t]*\\\n\s{0,200}", rf"{_QUOTED}|(?!-){_PLAIN}"),
        (r"\\{0,7}[\"'],\s{0,200}", rf"{_QUOTED}(?![ \t]*[:=])|(?!-){_PLAIN}(?=\s*[,\]])"),
        (r"[\"']?\n[ \t]{0,200}- ", rf"{_QUOTED}(?![ \t]*:)|(?!-){_PLAIN}(?<!:)(?!{_PLAIN_MORE})"),
    )
)

_BEARER = re.compile(r"(?i)(?<=[\"'\s:=])(Bearer[ \t]+)([\w.~+/=-]{8,})")
_BASIC = re.compile(r"(?i)(?<=[\"':=])( ?Basic[ \t]+)([\w.~+/=-]{8,})(?=[\"'\\]|[ \t]*$)", re.MULTILINE)
#: The whole authority up to its last @: a password may hold one, or a slash, but then no comma.
_CREDENTIALS = re.compile(r"(?<=://)[^/\s\"'\\]+(?=@)")
_ADDRESS = re.compile(r"://[^\s\"',\\]+")
_SLASHED = re.compile(r"(?<=://)[^/\s\"'\[\]:@\\]*:(?!\d*/).*")
_NO_STRING = re.compile(
    r"(?i)[-+]?(?:true|false|yes|no|on|off|none|null|~|\.?inf|\.?nan|\d[\d_]*(?:\.[\d_]+)?(?:e[-+]?\d+)?|0x[\da-f_]+|0[ob][0-7_]+"
    r"|\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[-+][\d:]+)?)?|\d\d:\d\d:\d\d(?:\.\d+)?)"
)
#: In ``["TOKEN=", "x"]`` the quote after ``=`` may open or close a string: the line before it decides.
_AMBIGUOUS = re.compile(r"[\"'](?:\s{0,200}[,\]}]|[ \t]{0,200}#)")
_MARK = re.compile(r"\\[^\n]|[\"'\n]")
#: A filter's placeholder, which keeps equal values equal; and the keys of conditions in dnf's locks.
_HARMLESS_VALUE = re.compile(r"(?P<quote>[\"']?)(?:~[0-9a-f]{12}|evr|version|name|arch|root)(?P=quote)")
_OPENING = re.compile(r"\\*[\"']")
_ARGUMENT = re.compile(rf"(?i)^--?[\w-]{{0,60}}?{_WORD}(?P<tail>[\w-]{{0,60}})$")
#: Here -t is --token.
_SHORT_TOKEN = frozenset({"k3s", "rke2"})


#: End of a value, and the replacement for everything between its name and there.
_Edit: TypeAlias = tuple[int, str]


class _Name(NamedTuple):
    """The name of a secret in a text, and its position."""

    begins: int  # with its stem
    word: int
    ends: int
    is_whole: bool  # nothing follows the word: password, not password_id
    line: int  # begins; of a long one: the last 300 characters before the name


class _Evidence:
    """A text that is scanned once, from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._looked_at = 0
        self._quote = ""

    def closes(self, at: int) -> bool:
        """Whether the character at `at` is a quote that closes a string on its line."""
        if not _AMBIGUOUS.match(self.text, at):
            return False
        for mark in _MARK.finditer(self.text, self._looked_at, at):
            if mark[0] in ("\n", self._quote):
                self._quote = ""
            elif not self._quote and mark[0] in ("'", '"') and not self.text[max(0, mark.start() - 1) : mark.start()].isalnum():  # don't
                self._quote = mark[0]
        self._looked_at = max(at, self._looked_at)
        return self._quote == self.text[at]


def without_secrets(text: str) -> str:
    r"""`text` without the values of passwords, tokens and keys.

    >>> without_secrets('auth = {username = "svc", password = "a b"}')
    'auth = {username = "<removed>", password = "<removed>"}'
    >>> without_secrets('deb https://bob:pw@mirror/ x')
    'deb https://<removed>@mirror/ x'
    """
    text = "".join(_pieces(_Evidence(without_tokens(without_credentials(text)))))
    return _BASIC.sub(rf"\1{REMOVED}", _BEARER.sub(rf"\1{REMOVED}", text))


def without_credentials(text: str) -> str:
    """`text` without user and password of any address."""
    return _ADDRESS.sub(_slashed, _CREDENTIALS.sub(REMOVED, text)) if "://" in text else text


def without_secret_arguments(argv: Sequence[str]) -> "list[str]":
    """A command line without values of secrets, such as that of ``--token``.

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


def hidden(key: str, value: object) -> object:
    """The value of a JSON key, or the texts of its list, hidden if the key names a secret.

    >>> hidden("X_TOKEN", "abc"), hidden("name", "abc")
    ('<removed>', 'abc')
    """
    if not _is_secret(f"--{key}"):
        return value
    if isinstance(value, list):
        return [hidden(key, item) for item in value]
    return REMOVED if isinstance(value, str) and value and not _HARMLESS_VALUE.fullmatch(value) else value


def _is_secret(flag: str) -> bool:
    found = _ARGUMENT.search(flag)
    return bool(found and not _HARMLESS.search(found["tail"]))


def _slashed(found: "re.Match[str]") -> str:
    """For a password with a slash: remove everything up to the last @."""
    credentials, at, rest = found[0].rpartition("@")
    return _SLASHED.sub(REMOVED, credentials) + at + rest


def _pieces(evidence: _Evidence) -> Iterator[str]:
    """The text in pieces, without the values after names of secrets."""
    shown = at = 0
    while found := _NAME.search(evidence.text, at):
        at = found.end()
        if _HARMLESS.search(found["tail"]):
            continue
        name = _name(evidence.text, found)
        for form in (_block, _inside, _line, _list, _value, _quoted, _flag):
            if edit := form(evidence, name):
                yield evidence.text[shown : name.ends]
                yield edit[1]
                shown = at = edit[0]
                break
    yield evidence.text[shown:]


def _name(text: str, found: "re.Match[str]") -> _Name:
    word = found.start()
    before = text[max(0, word - _STEM_CHARACTERS) : word]
    begins = word - len(before) + len(before.rstrip(_STEM))
    line = text.rfind("\n", max(0, begins - _LINE_CHARACTERS), begins) + 1 or max(0, begins - _LINE_CHARACTERS)
    return _Name(begins, word, found.end(), not found["tail"], line)


# The forms of values after a name.


def _block(evidence: _Evidence, name: _Name) -> "_Edit | None":
    text = evidence.text
    start, found = _BLOCK_START.fullmatch(text, name.line, name.begins), _BLOCK.match(text, name.ends)
    if not (start and found):
        return None
    deeper = len(start["indent"]) + 2 * bool(start["dash"])
    ends = found.end()
    while ends < len(text):
        line = _BLOCK_LINE.match(text, ends)
        if not line or (line["text"].strip() and len(line["indent"]) <= deeper):
            break
        ends = line.end()
    return (ends, f"{found[0]}{start['indent']}    {REMOVED}\n") if ends > found.end() else None


def _inside(evidence: _Evidence, name: _Name) -> "_Edit | None":
    quote = evidence.text[name.begins - 1 : name.begins]
    if quote not in _INSIDE or evidence.text[max(0, name.begins - 2) : name.begins - 1] == "\\":
        return None
    found = _INSIDE[quote].match(evidence.text, name.ends)
    return (found.end(), found["before"] + _hidden(found["value"], is_whole=name.is_whole)) if found else None


def _line(evidence: _Evidence, name: _Name) -> "_Edit | None":
    """A comment and the end of a flow mapping stay."""
    found = _LINE_START.fullmatch(evidence.text, name.line, name.begins) and _LINE.match(evidence.text, name.ends)
    if not found:
        return None
    value = found["value"].partition(" #")[0].rstrip(" \t\r,}]")
    return (found.start("value") + len(value), found["before"] + _hidden(value, is_whole=name.is_whole)) if value else None


def _list(evidence: _Evidence, name: _Name) -> "_Edit | None":
    found = _LIST.match(evidence.text, name.ends)
    if not found:
        return None
    items, ends = [], found.end()
    while edit := _first(evidence, ends, _ITEMS, is_whole=False):
        items.append(edit[1])
        ends = edit[0]
    return (ends, found[0] + "".join(items)) if items else None


def _value(evidence: _Evidence, name: _Name) -> "_Edit | None":
    return _first(evidence, name.ends, (_VALUE, _UNCLOSED), is_whole=name.is_whole)


def _quoted(evidence: _Evidence, name: _Name) -> "_Edit | None":
    """The form of apt.conf."""
    return _first(evidence, name.ends, (_BEHIND,), is_whole=True) if name.is_whole else None


def _flag(evidence: _Evidence, name: _Name) -> "_Edit | None":
    if not evidence.text[name.begins : name.word].rpartition(".")[2].startswith("-"):
        return None
    return _first(evidence, name.ends, _FLAGS, is_whole=name.is_whole)


def _first(evidence: _Evidence, at: int, patterns: "tuple[re.Pattern[str], ...]", *, is_whole: bool) -> "_Edit | None":
    """The edit of the first pattern that matches a value at `at`."""
    for pattern in patterns:
        found = pattern.match(evidence.text, at)
        if found and not evidence.closes(found.start("value")):
            return found.end(), found["before"] + _hidden(found["value"], is_whole=is_whole)
    return None


def _hidden(value: str, *, is_whole: bool) -> str:
    """`value` removed, its quotes kept. Of a value that is no string only the digits after a whole name (password) are replaced."""
    if _HARMLESS_VALUE.fullmatch(value):
        return value
    opening = _OPENING.match(value)
    if opening:
        rest = value[opening.end() :]
        hidden = rest[:-1].rstrip("\\") if rest.endswith(("'", '"')) else rest
        return f"{opening[0]}{REMOVED}{rest[len(hidden) :]}" if hidden else value
    if _NO_STRING.fullmatch(value):
        return "0" if is_whole and value[-1].isdigit() else value
    return REMOVED
