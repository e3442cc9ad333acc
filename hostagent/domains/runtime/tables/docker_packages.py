"""Packages of Docker's engine and command line in distributions' repositories.

Sources: package pages of Debian, Ubuntu, Fedora (moby-engine; its command line is moby-cli, and docker-cli from Fedora 42 on), openSUSE
(docker), Amazon Linux 2023 (docker) and Azure Linux (moby-engine, moby-cli); Red Hat, "Building, running, and managing containers": no
Docker since Red Hat Enterprise Linux 8; Docker, "Install Docker Engine on RHEL", and on CentOS (names, addresses). Read 2026-11.
"""

from collections.abc import Mapping

#: One name of each group is installed: the first that the repositories have. A group with "" is optional.
Groups = tuple[tuple[str, ...], ...]

_MOBY: Groups = (("moby-engine",), ("moby-cli", "docker-cli", ""))
#: Packages of Docker's own repository, if an administrator has added it: these distributions have no Docker.
_DOCKERS: Groups = (("docker-ce",), ("docker-ce-cli", ""), ("containerd.io", ""))
_ENGINES: Mapping[str, Groups] = {
    **dict.fromkeys(("debian", "ubuntu"), (("docker.io",),)),
    **dict.fromkeys(("sles", "opensuse-leap", "amzn"), (("docker",),)),
    **dict.fromkeys(("fedora", "azurelinux"), _MOBY),
}
#: Docker's own repositories for distributions without an engine, by os-release's ID.
OWN_REPOSITORIES: Mapping[str, str] = {
    "rhel": "https://download.docker.com/linux/rhel/docker-ce.repo",
    **dict.fromkeys(("rocky", "almalinux", "centos", "ol"), "https://download.docker.com/linux/centos/docker-ce.repo"),
}
#: Packages with another program's command named docker: not an engine, and in conflict with one.
STAND_INS = ("podman-docker",)


def engine(id_: str) -> Groups:
    """The groups of a distribution, by os-release's ID; () if unknown.

    >>> engine("ubuntu"), engine("rocky")[0], engine("arch")
    ((('docker.io',),), ('docker-ce',), ())
    """
    return _ENGINES.get(id_, _DOCKERS if id_ in OWN_REPOSITORIES else ())
