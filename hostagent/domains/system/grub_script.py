"""Parser of GRUB's script, grub.cfg (GRUB manual, "Shell-like scripting").

Evaluated are settings, conditions, the environment block and menu entries. A condition that depends on the firmware is unknown: both
branches are evaluated, and differences are not certain.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?:[ \t\r]+|\#[^\n]*|\\\n)|(?P<end>[\n;&|]+)|(?P<word>(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s;&|'"\\])+)|(?P<bad>.)""", re.DOTALL
)
_MOST_WORDS, _DEEPEST = 50_000, 30
_END = ""


class Statement(NamedTuple):
    """A command with its block, or an ``if``: pairs of condition and body, where an ``else`` has no condition."""

    words: tuple[str, ...]
    body: "tuple[Statement, ...]" = ()
    choices: "tuple[tuple[tuple[Statement, ...], tuple[Statement, ...]], ...]" = ()


def parse_grubcfg(text: str) -> tuple[Statement, ...]:
    r"""
    The statements of a script, words not yet expanded; raises ``ValueError``.

    >>> script = parse_grubcfg('if [ "${next_entry}" ] ; then\n  set default="${next_entry}"\nelse\n  set default="1>2"\nfi\n')
    >>> [body[0].words for _, body in script[0].choices]
    [('set', 'default="${next_entry}"'), ('set', 'default="1>2"')]
    >>> parse_grubcfg("menuentry 'A b' --id x {\n linux /vmlinuz-6.1 ro # c\n}")[0].body[0].words
    ('linux', '/vmlinuz-6.1', 'ro')
    """
    return _Script(tuple(_words(text))).block((), 0)


def _words(text: str) -> "Iterator[str]":
    """The words, and an empty text at each end of a command."""
    count = 0
    for match in _TOKEN.finditer(text):
        if match["bad"]:
            raise ValueError(f"grub.cfg: {match['bad']!r} begins what does not end")
        if match["end"] or match["word"]:
            count += 1
            yield match["word"] or _END
        if count > _MOST_WORDS:
            raise ValueError(f"grub.cfg has more than {_MOST_WORDS} words")


class _Script:
    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words
        self._at = 0

    def block(self, stops: tuple[str, ...], depth: int) -> tuple[Statement, ...]:
        """Statements up to a command that begins with one of `stops`, which is not consumed; without `stops`, up to the end."""
        if depth > _DEEPEST:
            raise ValueError(f"grub.cfg is nested deeper than {_DEEPEST}")
        found: list[Statement] = []
        while True:
            word = self._next(_END)
            if word in stops:
                return tuple(found)
            self._at += 1
            if word == "if":
                found.append(Statement(("if",), choices=self._choices(depth)))
            elif word in ("for", "while", "until"):
                self.block(("do",), depth + 1)
                self._at += 1
                found.append(Statement((word,), self.block(("done",), depth + 1)))
                self._at += 1
            elif word:
                found.append(self._command(word, depth))
            elif stops:
                raise ValueError(f"grub.cfg ends without {stops[-1]}")
            else:
                return tuple(found)

    def _next(self, past: str) -> str:
        """The next word after all that equal `past`; "" at the end."""
        while self._at < len(self._words) and self._words[self._at] == past:
            self._at += 1
        return self._words[self._at] if self._at < len(self._words) else _END

    def _choices(self, depth: int) -> "tuple[tuple[tuple[Statement, ...], tuple[Statement, ...]], ...]":
        found: list[tuple[tuple[Statement, ...], tuple[Statement, ...]]] = []
        word = "elif"
        while word != "fi":
            condition: tuple[Statement, ...] = ()
            if word == "elif":
                condition = self.block(("then",), depth + 1)
                self._at += 1
            found.append((condition, self.block(("elif", "else", "fi"), depth + 1)))
            word = self._words[self._at]
            self._at += 1
        return tuple(found)

    def _command(self, first: str, depth: int) -> Statement:
        words = [first]
        while self._at < len(self._words) and (word := self._words[self._at]) not in (_END, "}"):
            self._at += 1
            if word == "{":
                body = self.block(("}",), depth + 1)
                self._at += 1
                return Statement(tuple(words), body)
            words.append(word)
        return Statement(tuple(words))


_PIECE = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|\$(?:\{(\w+|\?)\}|(\w+|\?))|([^'"\\$]+)|(.)""", re.DOTALL)
_IN_QUOTES = re.compile(r"\\([\\\"$])|\$(?:\{(\w+|\?)\}|(\w+|\?))|([^\\$]+|.)", re.DOTALL)


def expanded(word: str, values: "Mapping[str, str | None]", unknown: "str | None" = None) -> "str | None":
    r"""
    A word without quotes and with variables expanded; `unknown` if it holds a variable of unknown value.

    >>> expanded('"a ${x}"', {"x": "b"}), expanded("'$x'", {}), expanded("${root}/vmlinuz", {"root": None}), expanded("-$y-", {})
    ('a b', '$x', None, '--')
    >>> expanded("($root)/vmlinuz", {"root": None}, "")
    '()/vmlinuz'
    """
    found: list[str | None] = []
    for single, double, escaped, braced, bare, plain, other in _PIECE.findall(word):
        if double:
            for mark, in_braces, after_sign, text in _IN_QUOTES.findall(double):
                name = in_braces or after_sign
                found.append(values.get(name, "") if name else mark or text)
        elif braced or bare:
            found.append(values.get(braced or bare, ""))
        else:
            found.append(single or escaped or plain or other)
    if unknown is None and None in found:
        return None
    return "".join(unknown or "" if piece is None else piece for piece in found)
