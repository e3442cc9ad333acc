"""Which packages are Docker's engine in a distribution's own repositories, and how it names the command line's.

Sources: package pages of Debian, Ubuntu, Fedora (moby-engine; its command line is moby-cli, and docker-cli from Fedora 42 on), openSUSE
(docker), Amazon Linux 2023 (docker) and Azure Linux (moby-engine, moby-cli); Red Hat, "Building, running, and managing containers": no
Docker since Red Hat Enterprise Linux 8; Docker, "Install Docker Engine on RHEL", and on CentOS (names, addresses). Read 2026-11.
"""

from collections.abc import Mapping

#: One name out of each group: the first that the repositories have. A group with "" in it may stay without any.
Groups = tuple[tuple[str, ...], ...]

_MOBY: Groups = (("moby-engine",), ("moby-cli", "docker-cli", ""))
#: Of Docker's own repository, where an administrator has put it: these distributions have no Docker.
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
#: A command called docker that is another program's: no engine of Docker's, and in the way of one.
STAND_INS = ("podman-docker",)


def engine(id_: str) -> Groups:
    """By os-release's ID; () of a distribution that is not known.

    >>> engine("ubuntu"), engine("rocky")[0], engine("arch")
    ((('docker.io',),), ('docker-ce',), ())
    """
    return _ENGINES.get(id_, _DOCKERS if id_ in OWN_REPOSITORIES else ())
