"""Configuration files of NVIDIA's daemons (fabric manager, IMEX): the file of ``-c``, and ``NAME=value`` lines."""

from itertools import pairwise

from hostagent.core.parsing import shown
from hostagent.core.unread import Unread

#: A path elsewhere may lie on a file system of the network, which may hang.
_LOCAL = ("/etc/", "/run/", "/usr/", "/var/")


def named_file(words: tuple[str, ...]) -> str:
    """The file that ``-c`` names on a command line, "" without one.

    >>> named_file(("nv-fabricmanager", "-c", "/etc/fm.cfg")), named_file(("nvidia-imex",))
    ('/etc/fm.cfg', '')
    """
    return next((after for word, after in pairwise(words) if word == "-c" and after.startswith("/")), "")


def local_file(path: str) -> "str | Unread":
    """The path, absent where it may lie on another host.

    >>> local_file("/etc/nvidia-imex/config.cfg"), local_file("/shared/nodes.cfg").why
    ('/etc/nvidia-imex/config.cfg', 'absent')
    """
    is_local = path.startswith(_LOCAL) and "/../" not in path
    return path if is_local else Unread("absent", f"{shown(path)} is not below {', '.join(_LOCAL)}, and is not read")


def parse_daemon_settings(text: str) -> dict[str, str]:
    r"""``NAME=value`` lines, comments after ``#``; of two the later.

    >>> parse_daemon_settings("# IMEX\nSERVER_PORT=50000\nIMEX_CMD_ENABLED=1 # for nvidia-imex-ctl\n#LOG_LEVEL=4\n")
    {'SERVER_PORT': '50000', 'IMEX_CMD_ENABLED': '1'}
    """
    rows = (line.partition("#")[0].partition("=") for line in text.splitlines())
    return {name.strip(): value.strip().strip('"') for name, separator, value in rows if separator}
