"""Local users, and the members of the group docker. Personal names: only used live, never recorded."""

from collections.abc import Callable, Iterator
from typing import Any

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import NOTHING
from hostagent.core.unread import Unread, need, then
from hostagent.facts.accounts import Accounts
from hostagent.host.source import Source

_PASSWD, _GROUP, _SWITCH = "/etc/passwd", "/etc/group", "/etc/nsswitch.conf"
#: Services of nsswitch.conf(5) without users beyond the files: systemd's are those of its own services.
_OF_FILES = frozenset(("files", "compat", "systemd", "altfiles"))


def read_accounts(source: Source, _known: Callable[[type], Any]) -> Accounts:
    members = then(_text(source, _GROUP), parse_docker_members)
    return Accounts(
        docker_group=then(members, lambda found: found is not None),
        docker_members=then(members, lambda found: found or ()),
        users=then(_text(source, _PASSWD), parse_users),
        has_other_users=_has_others(source),
    )


@stops_at_unread
def _has_others(source: Source) -> bool:
    return parse_asks_others(need(_text(source, _SWITCH, absent="")))


@stops_at_unread
def _text(source: Source, path: str, absent: "str | None" = None) -> str:
    data = source.read(path, keep=NOTHING)
    if isinstance(data, Unread):
        if data.why == "absent" and absent is not None:
            return absent
        return need(Unread("not-recorded", f"a snapshot has no whole {path}", data.question) if data.why == "not-recorded" else data)
    return data.decode("utf-8", "surrogateescape")


def parse_docker_members(text: str) -> "tuple[str, ...] | None":
    r"""Members of the group docker, from its first line in group(5); None without one.

    >>> parse_docker_members("adm:x:4:syslog\ndocker:x:999:bob,alice\n"), parse_docker_members("docker-users:x:998:eve\n")
    (('alice', 'bob'), None)
    """
    for fields in _rows(text):
        if fields[0] == "docker" and len(fields) >= 4:
            return tuple(sorted({name.strip() for name in fields[3].split(",") if name.strip()}))
    return None


def parse_users(text: str) -> tuple[str, ...]:
    r"""User names in passwd(5).

    >>> parse_users("root:x:0:0:root:/root:/bin/bash\n+::::::\nubuntu:x:1000:1000::/home/ubuntu:/bin/sh\n")
    ('root', 'ubuntu')
    """
    return tuple(sorted({fields[0] for fields in _rows(text) if len(fields) >= 4}))


def parse_asks_others(text: str) -> bool:
    r"""Whether nsswitch.conf(5) names another source of users than the host's files.

    >>> parse_asks_others("passwd: files systemd\n"), parse_asks_others("passwd:\tfiles [NOTFOUND=continue] sss # of SSSD\n")
    (False, True)
    """
    for line in text.splitlines():
        name, _, services = line.partition("#")[0].partition(":")
        if name.strip() == "passwd":
            return any(word not in _OF_FILES for word in _services(services))
    return False


def _services(line: str) -> Iterator[str]:
    """Services, without the actions in brackets."""
    inside = False
    for word in line.replace("[", " [ ").replace("]", " ] ").split():
        if word in "[]":
            inside = word == "["
        elif not inside:
            yield word


def _rows(text: str) -> Iterator[list[str]]:
    """The fields of each entry, without NIS entries (``+``, ``-``) and comments."""
    for line in text.split("\n"):
        if line and line[0] not in "+-#":
            yield line.split(":")
