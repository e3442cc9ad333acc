"""Quotes a value for a shell, a Kubernetes ``env:`` list and a conf file of NCCL. Values are untrusted: they come from reports."""

# zsh makes a path of `=name`, so shells get single quotes always. Kubernetes expands `$(NAME)`, so `$` is doubled in YAML. The
# first of a name counts in a conf file, so our lines come first; a comment has no equals sign, which NCCL before 2.26.2 takes for
# a variable. A conf file holds no line end and at most 1,024 bytes a line.

from typing import Literal, get_args

from hostagent.domains.nccl.tables.changes import CUT

Form = Literal["shell", "yaml", "conf", "json"]
FORMS: tuple[Form, ...] = get_args(Form)
#: What YAML calls printable of ASCII, and no mark within double quotes; all else is written by its number.
_PLAIN = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "\\"}


def holds(form: Form, value: str) -> bool:
    r"""Whether the format can hold it, so that NCCL gets what was meant. An environment has no NUL; a conf file has one value a line, and
    newer NCCL drops a carriage return at its end; no file has half a character.

    >>> holds("shell", "a\nb"), holds("conf", "a\nb"), holds("conf", "a\r"), holds("yaml", "a\0b")
    (True, False, False, False)
    """
    if form == "json":
        return True
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return False
    if form == "conf" and ("\n" in value or value.endswith("\r") or size > CUT):
        return False
    return "\0" not in value


def in_shell(value: str) -> str:
    r"""One word of any shell of the Bourne family. Always in quotes: zsh expands a word that begins with ``=`` to a path.

    >>> in_shell("=mlx5_0:1"), in_shell("it's $(this)")
    ("'=mlx5_0:1'", "'it'\\''s $(this)'")
    """
    quote = "'\\''"
    return f"'{value.replace(chr(39), quote)}'"


def in_yaml(value: str) -> str:
    r"""A scalar in double quotes, the same in YAML 1.1 and 1.2. Kubernetes puts other variables in the place of ``$(NAME)``, and one ``$``
    in that of ``$$``.

    >>> in_yaml("=mlx5_0:1"), in_yaml("$(HOME)\n")
    ('"=mlx5_0:1"', '"$$(HOME)\\u000a"')
    """
    return f'"{"".join(char if char in _PLAIN else _escaped(char) for char in value.replace("$", "$$"))}"'


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def in_conf(value: str) -> str:
    """As it is: a conf file has no quotes, and nothing is trimmed."""
    return value
