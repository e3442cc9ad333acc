"""Parses TOML of configuration files in bounded time."""

from typing import Any

#: The parser takes quadratic time in the parts of a dotted key.
_MAX_DOTS = 200


class TomlError(ValueError):
    """The text is not TOML; the message says where."""


def parse_toml(data: bytes, *, strict: bool = True) -> dict[str, Any]:
    r"""The document. Not `strict`: invalid UTF-8 and a byte order mark are accepted, as by containerd 1.x.

    >>> parse_toml(b'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\nenable_cdi = true\n')
    {'version': 2, 'plugins': {'io.containerd.grpc.v1.cri': {'enable_cdi': True}}}
    >>> parse_toml(b'version = 2\n{{ template "base" . }}\n')
    Traceback (most recent call last):
    hostagent.core.toml.TomlError: Invalid statement (at line 2, column 1)
    """
    try:
        import tomllib
    except ImportError:  # Python 3.10
        import tomli as tomllib  # type: ignore[no-redef]
    for number, line in enumerate(data.splitlines(), 1):
        if line.count(b".") > _MAX_DOTS and not line.lstrip().startswith(b"#"):
            raise TomlError(f"found more than {_MAX_DOTS} dots (at line {number})")
    try:
        text = data.decode() if strict else data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", " ")
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise TomlError(f"invalid UTF-8 (at byte {error.start})") from error
    except RecursionError as error:
        raise TomlError("nested too deeply") from error
    except ValueError as error:
        raise TomlError(str(error)) from error
