"""What is kept of NCCL's conf files: the names of settings, and the values of known ones."""

import re
from collections.abc import Callable

from hostagent.domains.nccl.tables.changes import CUT
from hostagent.domains.nccl.tables.plugins import keeps_value

#: A name that is meant for NCCL, a plug-in of it or libfabric. NCCL trims nothing: with a blank, or ``export``, it is another one.
_MEANT = re.compile(r"(?i)[ \t]{0,16}(?:export[ \t]{1,16})?(?:NCCL|OFI|FI)_\w{0,120}[ \t]{0,16}", re.ASCII)


def is_setting(name: str) -> bool:
    """Whether a name in a conf file is reported.

    >>> is_setting("NCCL_NET"), is_setting(" export NCCL_NET "), is_setting("MY_PASSWORD"), is_setting("#NCCL_NET")
    (True, True, False, False)
    """
    return bool(_MEANT.fullmatch(name))


def cleaned(value: str) -> str:
    """The value of a known variable, without secrets recognised by their form; the patterns are imported only when needed.

    >>> cleaned("mlx5_0:1"), cleaned("/x/ghp_0123456789abcdef")
    ('mlx5_0:1', '/x/<removed>')
    """
    from hostagent.core.secret.names import without_secrets

    return without_secrets(value)


def conf_text(data: bytes, names: tuple[str, ...], mask: Callable[[str], str]) -> bytes:
    r"""A conf file with its settings alone, each on the line that it had.

    >>> conf_text(b"# bob\nNCCL_NET=IB\nPASSWORD=x\nNCCL_X_TOKEN=abc\n", (), str)
    b'\nNCCL_NET=IB\n\nNCCL_X_TOKEN=\n'
    """
    lines = [_kept(line) for line in data.decode("utf-8", "replace").split("\n")]
    return "\n".join(lines).rstrip("\n").encode() + b"\n"


def _kept(line: str) -> str:
    text, zero, _ = line.partition("\0")  # which ends it, and is kept, for a carriage return before it is no end of a line
    name, equals, value = text.partition("=")
    if not (equals and is_setting(name)):
        return ""
    return f"{name}={cleaned(value[:CUT])}{zero}" if keeps_value(name) else f"{name}="
