"""Paths of the plan's own files, by package manager; and the repository of each part."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from hostagent.core.unread import need
from hostagent.domains.packages.commands import program_of
from hostagent.domains.packages.tables.repositories import TOOLKIT_KEY, KeySource, cuda_key, cuda_key_url, cuda_url, toolkit_url
from hostagent.plan.model import Given

Name = Literal["cuda", "toolkit"]
NAMES: tuple[Name, ...] = ("cuda", "toolkit")
CALLED: Mapping[str, str] = {"cuda": "CUDA", "toolkit": "Container Toolkit"}

#: apt passes over preferences whose name has a dot in it.
PIN_DRIVER = "/etc/apt/preferences.d/hostagent-driver"
PIN_TOOLKIT = "/etc/apt/preferences.d/hostagent-toolkit"


class Wanted(NamedTuple):
    """A repository that the plan needs."""

    name: Name
    url: str  # with its closing slash; "" where NVIDIA has none for this distribution
    key: "KeySource | None"  # where the profile names no file: what is fetched; None without a known SHA-256
    key_file: str  # the profile's, of the machine that runs hostagent; "" for none
    rpm_key_url: str  # where a package manager of rpm fetches the key itself


def program(given: Given) -> str:
    """apt-get, dnf, zypper or tdnf; "" where it is unknown."""
    return program_of(need(given.view.packages), need(given.view.os))


def wanted(given: Given, name: Name) -> Wanted:
    """Raises ``UnreadError``."""
    os = need(given.view.os)
    id_, version, arch = need(os.id), need(os.version_id), need(os.arch)
    policy = getattr(given.profile.install.repositories, name)
    if name == "cuda":
        url, key, rpm_key = cuda_url(id_, version, arch), cuda_key(id_, version, arch), cuda_key_url(id_, version, arch)
    else:
        url, key, rpm_key = toolkit_url(need(need(given.view.packages).manager), arch), TOOLKIT_KEY, TOOLKIT_KEY.url
    return Wanted(name, f"{policy.url.rstrip('/')}/" if policy.url else url, None if policy.key else key, policy.key, rpm_key)


def keyring(name: Name, manager: str) -> str:
    """Our own keyring."""
    return f"/usr/share/keyrings/hostagent-{name}.gpg" if manager == "apt-get" else f"/etc/pki/rpm-gpg/RPM-GPG-KEY-hostagent-{name}"


def source_file(name: Name, manager: str) -> str:
    """Our own repository file."""
    if manager == "apt-get":
        return f"/etc/apt/sources.list.d/hostagent-{name}.sources"
    return f"/etc/{'zypp/repos.d' if manager == 'zypper' else 'yum.repos.d'}/hostagent-{name}.repo"


def source_text(one: Wanted, manager: str) -> str:
    """Its whole text."""
    if manager == "apt-get":
        lines = ("Types: deb", f"URIs: {one.url}", "Suites: /", f"Signed-By: {keyring(one.name, manager)}")
        return "\n".join(("# Written by hostagent.", *lines, ""))
    is_toolkit = one.name == "toolkit"
    gpgkey = f"file://{keyring(one.name, manager)}" if one.key_file else one.rpm_key_url
    lines = (
        *("# Written by hostagent.", f"[hostagent-{one.name}]", f"name=NVIDIA {CALLED[one.name]}, by hostagent", f"baseurl={one.url}"),
        *("enabled=1", f"gpgcheck={int(not is_toolkit)}", *(("repo_gpgcheck=1",) if is_toolkit else ()), f"gpgkey={gpgkey}", ""),
    )
    return "\n".join(lines)
