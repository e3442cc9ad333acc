"""Repositories of dnf, zypper and tdnf: INI files, a section for each."""

# Of repositories that are not NVIDIA's, a snapshot keeps only the host name: a path may contain a credential. `gpgkey` is not secret.

import re
from collections.abc import Iterator, Mapping

from hostagent.core.parsing import at_most, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.packages.read_dnf import parse_ini
from hostagent.facts.installation import Repository
from hostagent.facts.packages import Packages
from hostagent.host.source import Source
from hostagent.host.values import paths_in

#: A later folder overrides a repository of the same id (dnf5.conf(5), reposdir). The default of gpgcheck is in the main files.
_ZYPP = "/etc/zypp/repos.d"
_FOLDERS = ("/usr/share/dnf5/repos.d", "/etc/distro.repos.d", "/etc/yum.repos.d", _ZYPP)
_MAINS = ("/etc/dnf/dnf.conf", "/etc/tdnf/tdnf.conf", "/etc/yum.conf")
_KEEP, _MAIN = Keep("repositories"), Keep("settings", ("gpgcheck",))
_MOST = 2000
_UNSET = Unread("absent", "neither the repository nor the main configuration says it")
_YES, _NO = frozenset({"1", "yes", "true", "on", "enabled"}), frozenset({"0", "no", "false", "off", "disabled"})
_NVIDIA = re.compile(r"nvidia|/cuda/repos/", re.IGNORECASE)


def parse_repositories(text: str, file: str, default: "bool | Unread" = _UNSET) -> tuple[Repository, ...]:
    r"""The repositories of one file (dnf.conf(5), zypper(8)); raises ``ValueError`` where there are too many.

    >>> text = "[cuda]\nname=cuda\nbaseurl=https://u:p@mirror/cuda/repos/rhel9/x86_64?t=1\nenabled=1\ngpgcheck=1\ngpgkey=https://m/k.pub\n"
    >>> for one in parse_repositories(text, "f"):
    ...     print(one.id, one.url, one.enabled, one.checks_signatures, one.keys)
    cuda https://mirror/cuda/repos/rhel9/x86_64 True True ('https://m/k.pub',)
    """
    rows = ((section, options) for section, options in parse_ini(_join_lines(text)) if section != "main")
    return tuple(at_most(_MOST, "repositories", (_repository(file, section, options, default) for section, options in rows)))


def _join_lines(text: str) -> str:
    """Joins continuation lines, which begin with a blank."""
    return re.sub(r"\n[ \t]+(?=[^\s#;])", " ", text)


def _repository(file: str, section: str, options: Mapping[str, str], default: "bool | Unread") -> Repository:
    urls = [word for key in ("baseurl", "metalink", "mirrorlist") for word in re.split(r"[\s,]+", options.get(key, "")) if word]
    return Repository(
        file=file,
        id=section,
        url=plain_url(urls[0]) if urls else "",
        enabled=options.get("enabled", "1").lower() not in _NO,
        checks_signatures=_switch(options.get("gpgcheck", ""), default),
        keys=tuple(plain_url(word) for word in re.split(r"[\s,]+", options.get("gpgkey") or options.get("signed_by", "")) if word),
    )


def _switch(word: str, default: "bool | Unread") -> "bool | Unread":
    return default if word.lower() not in _YES | _NO else word.lower() in _YES


def plain_url(url: str) -> str:
    """The URL without user, password, query and fragment.

    A password may hold a raw ``?`` or ``#``, so the user is removed first; an address with ``@`` in its path or query loses too much.

    >>> plain_url("https://a:b@c/d?token=e#f"), plain_url("https://a:b?c@d/e"), plain_url("file:///srv/x"), plain_url("file:/srv/x")
    ('https://c/d', 'https://d/e', 'file:///srv/x', 'file:/srv/x')
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return re.split("[?#]", url, maxsplit=1)[0]
    return f"{scheme}://{re.split('[?#]', rest.rpartition('@')[2], maxsplit=1)[0]}"


def names_nvidia(one: Repository) -> bool:
    """Whether it is an NVIDIA repository or a mirror of one, by address or id."""
    return bool(_NVIDIA.search(one.url) or _NVIDIA.search(one.id) or one.id.startswith("cuda"))


def host_only(url: str) -> str:
    """Scheme and host of an address, for snapshots of repositories that are not NVIDIA's: a path may contain a credential.

    >>> host_only("https://packages.example.com/priv/0123456789abcdef/el9"), host_only("file:///srv/x")
    ('https://packages.example.com/', 'file:///')
    """
    scheme, separator, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/" if separator else ""


def to_ini(repositories: tuple[Repository, ...]) -> Iterator[str]:
    """Lines of an INI file that parse to these repositories."""
    for one in repositories:
        shown = str if names_nvidia(one) else host_only
        yield f"[{one.id}]"
        yield f"baseurl={shown(one.url)}"
        yield f"enabled={int(one.enabled)}"
        if not isinstance(one.checks_signatures, Unread):
            yield f"gpgcheck={int(one.checks_signatures)}"
        if one.keys:
            yield f"signed_by={' '.join(map(shown, one.keys))}"  # redaction would take gpgkey for a secret


@stops_at_unread
def read_repositories(source: Source, packages: "Packages | Unread") -> "tuple[Repository, ...]":
    """Sorted by file, then in the file's order."""
    manager = need(need(packages).manager)
    if manager == "dpkg":
        raise UnreadError(Unread("not-supported", "dpkg is this host's package manager"))
    found: list[Repository] = []
    for path in (path for folder in _FOLDERS for path in paths_in(source, folder) if path.endswith(".repo")):
        try:
            found += parse_repositories(need(source.text(path, keep=_KEEP)), path, _default(source, path))
        except ValueError as error:
            raise UnreadError(Unread("error", f"{path}: {error}")) from error
        if len(found) > _MOST:
            raise UnreadError(Unread("error", f"{path}: found more than {_MOST} repositories before it and with it"))
    return tuple(found)


def _default(source: Source, path: str) -> "bool | Unread":
    """The default of gpgcheck: the main configuration's, else on for zypper and unset for dnf 4 (dnf.conf(5))."""
    is_zypp = path.startswith(_ZYPP)
    for main in ("/etc/zypp/zypp.conf",) if is_zypp else _MAINS:
        text = source.text(main, keep=_MAIN)
        if isinstance(text, Unread):
            if text.why == "absent":
                continue
            return text
        return _switch(dict(parse_ini(text)).get("main", {}).get("gpgcheck", ""), is_zypp)
    return is_zypp or _UNSET
