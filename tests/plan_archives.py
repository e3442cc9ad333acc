"""Made repositories for plans: which packages there are of each distribution, and a package manager that answers for them.

Names are those of NVIDIA's Driver Installation Guide (package tables of each distribution) and of the package pages of Ubuntu and Debian,
state of 2026-08; written down apart from the tables of hostagent, which they judge. In braces: branch, version, kernel. The package
manager follows no dependencies: it does what it is told by name.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from hostagent.core.unread import need
from hostagent.plan.build import make
from hostagent.plan.model import Given, Plan
from hostagent.plan.offers import Candidate, Moved, Offers, Question, Transaction

CUDA = ("595.58.03", "590.48.01", "580.178.04", "580.159.03", "580.126.20", "570.211.01")
TOOLKIT = ("1.20.0", "1.19.1", "1.19.0", "1.18.2")
_TOOLKIT_NAMES = ("libnvidia-container-tools", "libnvidia-container1", "nvidia-container-toolkit", "nvidia-container-toolkit-base")
_REPOS = "https://developer.download.nvidia.com/compute/cuda/repos"
_ROUNDS = 6


class Shelf(NamedTuple):
    """Packages of one repository: each of `names` at each of `versions`, written as `written` says."""

    url: str
    names: tuple[str, ...]
    versions: tuple[str, ...]
    written: str  # {v}
    suite: str = "/"


_SWITCHES = ("nvidia-fabricmanager", "libnvidia-nscq", "libnvsdm", "nvidia-imex")
_UBUNTU = (
    *("libnvidia-compute{e}", "nvidia-utils{e}", "nvidia-dkms{e}-open", "nvidia-dkms{e}", "nvidia-kernel-source{e}-open", "nvidia-driver{e}-open"),
    *("nvidia-driver{e}", "nvidia-kernel-common{e}", "libnvidia-gl{e}", "nvidia-firmware-{b}-{v}", "nvidia-open", "cuda-drivers"),
)  # fmt: skip
_UBUNTU_PLAIN = tuple(name.replace("{e}", "") for name in _UBUNTU)
_UBUNTU_BRANCH = tuple(name.replace("{e}", "-{b}") for name in _UBUNTU)
_DEBIAN = (
    *("nvidia-driver-cuda", "nvidia-kernel-open-dkms", "nvidia-kernel-dkms", "firmware-nvidia-gsp", "nvidia-kernel-support", "libcuda1"),
    *("libnvidia-ml1", "nvidia-driver", "nvidia-open", "cuda-drivers", "nvidia-persistenced", "nvidia-modprobe"),
)
_EL = (
    *(
        "nvidia-driver-cuda",
        "kmod-nvidia-open-dkms",
        "kmod-nvidia-latest-dkms",
        "nvidia-driver-cuda-libs",
        "nvidia-kmod-common",
        "nvidia-open",
    ),
    *("cuda-drivers", "nvidia-persistenced", "nvidia-modprobe"),
)
_SERVER = (
    *("nvidia-headless-no-dkms-{b}-server-open", "nvidia-headless-no-dkms-{b}-server", "nvidia-headless-{b}-server-open"),
    *("nvidia-headless-{b}-server", "nvidia-utils-{b}-server", "nvidia-compute-utils-{b}-server", "libnvidia-compute-{b}-server"),
    *("nvidia-driver-{b}-server-open", "nvidia-driver-{b}-server", "nvidia-dkms-{b}-server-open", "nvidia-kernel-common-{b}-server"),
)
_OF_KERNEL = tuple(f"linux-modules-nvidia-580-server{flavour}-{{}}" for flavour in ("-open", ""))


def shelves(name: str, arch: str, kernel: str) -> Iterator[Shelf]:
    """What the repositories of a host of `tests.plan_hosts` have."""
    cuda = f"{_REPOS}/{_directory(name)}/{'x86_64' if arch == 'x86_64' else 'sbsa'}/"
    if name.startswith("ubuntu"):
        yield from _ubuntu(cuda, kernel)
    elif name.startswith("debian"):
        older = name == "debian12" and arch == "x86_64"
        versions = CUDA if older else tuple(one for one in CUDA if one >= "590")
        yield Shelf(cuda, (*_DEBIAN, *_SWITCHES), versions, "{v}-1")
        headers = (f"linux-headers-{kernel}", f"linux-headers-{kernel.rpartition('-')[2]}")
        yield Shelf("http://mirror.example/debian/", headers, (DEBIAN_KERNELS[name],), "{v}", "stable/main")
        yield Shelf("http://mirror.example/debian/", ("dkms",), ("3.0.10",), "{v}-8", "stable/main")
    else:
        yield from _rpm(name, cuda, kernel)
    yield from _cuda(name, cuda)
    yield from _docker(name)
    deb = "https://nvidia.github.io/libnvidia-container/stable/deb/" + ("amd64/" if arch == "x86_64" else "arm64/")
    rpm = f"https://nvidia.github.io/libnvidia-container/stable/rpm/{arch}/"
    yield Shelf(deb if name.startswith(("ubuntu", "debian")) else rpm, _TOOLKIT_NAMES, TOOLKIT, "{v}-1")


def _cuda(name: str, url: str) -> Iterator[Shelf]:
    """Toolkits of CUDA: a name per minor version; cuda itself brings a driver, too."""
    is_apt = name.startswith(("ubuntu", "debian"))
    for minor, versions in (("13-1", ("13.1.0",)), ("13-0", ("13.0.2", "13.0.1", "13.0.0")), ("12-9", ("12.9.1",))):
        yield Shelf(url, (f"cuda-toolkit-{minor}",), versions, "{v}-1", "/" if is_apt else "hostagent-cuda")
    yield Shelf(url, ("cuda",), ("13.1.0", "13.0.2"), "{v}-1", "/" if is_apt else "hostagent-cuda")


#: The engine as distributions package it; Red Hat's family has none.
_DOCKERS = {"ubuntu": (("docker.io",), "28.2.2"), "debian": (("docker.io",), "26.1.5"), "amzn": (("docker",), "25.0.8"), "sles": (("docker",), "28.3.3"),
            "fedora": (("moby-engine", "docker-cli"), "28.3.3"), "azurelinux": (("moby-engine", "moby-cli"), "25.0.3")}  # fmt: skip


def _docker(name: str) -> Iterator[Shelf]:
    for start, (names, version) in _DOCKERS.items():
        if name.startswith(start):
            yield Shelf("http://mirror.example/docker/", names, (version,), "{v}-1", "main")


DEBIAN_KERNELS = {"debian12": "6.1.158-1", "debian13": "6.12.57-1"}


def _directory(name: str) -> str:
    for old, new in (("rocky", "rhel"), ("azurelinux", "azl")):
        name = name.replace(old, new)
    return name


def _ubuntu(cuda: str, kernel: str) -> Iterator[Shelf]:
    old, new = (tuple(one for one in CUDA if (one >= limit) == is_new) for limit, is_new in (("590", False), ("590", True)))
    yield Shelf(cuda, _UBUNTU_BRANCH, old, "{v}-1ubuntu1")
    yield Shelf(cuda, _UBUNTU_PLAIN, new, "{v}-1ubuntu1")
    yield Shelf(cuda, (*_SWITCHES, "nvidia-persistenced"), tuple(one for one in CUDA if one >= "580"), "{v}-1ubuntu1")
    yield Shelf(cuda, tuple(f"{one}-570" for one in (*_SWITCHES, "nvidia-compute-utils")), ("570.211.01",), "{v}-1ubuntu1")
    yield Shelf(cuda, ("nvidia-modprobe",), CUDA, "{v}-1ubuntu1")
    yield Shelf(cuda, ("nvlsm",), ("2026.02.6",), "{v}-1")
    ubuntu = "http://mirror.example/ubuntu/"
    yield Shelf(ubuntu, _SERVER, ("580.159.03", "580.126.09"), "{v}-0ubuntu0.24.04.1", "noble-updates/restricted")
    yield Shelf(
        ubuntu,
        ("nvidia-fabricmanager-580", "libnvidia-nscq-580"),
        ("580.159.03", "580.126.09"),
        "{v}-0ubuntu0.24.04.1",
        "noble-updates/multiverse",
    )
    flavour = kernel.rpartition("-")[2]
    yield Shelf(
        ubuntu,
        tuple(one.format(end) for one in _OF_KERNEL for end in (kernel, flavour)),
        ("6.8.0-87.88",),
        "{v}+1",
        "noble-updates/restricted",
    )
    yield Shelf(ubuntu, (f"linux-headers-{kernel}", f"linux-headers-{flavour}"), ("6.8.0-87.88",), "{v}", "noble-updates/main")
    yield Shelf(ubuntu, ("dkms",), ("3.0.11",), "{v}-1ubuntu13", "noble/main")
    yield Shelf(ubuntu, ("infiniband-diags",), ("50.0",), "{v}-2", "noble/universe")


def _rpm(name: str, cuda: str, kernel: str) -> Iterator[Shelf]:
    dist = {
        "rocky8": "el8",
        "rocky9": "el9",
        "rocky10": "el10",
        "amzn2023": "amzn2023",
        "fedora42": "fc42",
        "sles15": "",
        "azurelinux3": "azl3",
    }[name]
    release = kernel.rpartition(".")[0]
    if name == "sles15":
        names = (
            "nvidia-compute-utils-G06",
            "nvidia-persistenced",
            "nv-prefer-signed-open-driver",
            "nvidia-compute-G06",
            "nvidia-driver-G06",
            "nvidia-open",
            "cuda-drivers",
        )
        yield Shelf(cuda, (*names, *_SWITCHES), CUDA, "{v}-1", "hostagent-cuda")
        return
    if name == "azurelinux3":
        microsoft = "http://mirror.example/azurelinux/3.0/prod/nvidia/x86_64/"
        yield Shelf(
            microsoft,
            ("cuda-open", "cuda", "nvidia-fabric-manager"),
            ("580.159.03", "580.126.20"),
            "{v}-1_6.6.104.2.4.azl3",
            "azurelinux-nvidia",
        )
        yield Shelf(cuda, ("nvidia-open",), CUDA, "3:{v}-1.azl3", "hostagent-cuda")
        yield Shelf(
            "http://mirror.example/azurelinux/3.0/prod/base/x86_64/",
            ("kernel-devel",),
            (kernel,),
            "{v}",
            "azurelinux-official-base",
        )
        yield Shelf(
            "http://mirror.example/azurelinux/3.0/prod/base/x86_64/",
            ("dkms",),
            ("3.0.10",),
            "{v}-1.azl3",
            "azurelinux-official-base",
        )
        return
    yield Shelf(cuda, (*_EL, *_SWITCHES), CUDA, f"3:{{v}}-1.{dist}", "hostagent-cuda")
    number = release.partition("-")[0] + "-" + release.partition("-")[2]
    devel = ("kernel-devel", "kernel-devel-matched", "kernel-headers", "kernel-modules-extra")
    yield Shelf("http://mirror.example/baseos/", devel, (number,), "{v}", "baseos")
    yield Shelf("http://mirror.example/epel/", ("dkms",), ("3.2.2",), f"{{v}}-1.{dist}", "epel")
    yield Shelf(
        cuda,
        tuple(f"kmod-nvidia-{version}-{kernel.partition('.el')[0]}" for version in CUDA),
        ("0",),
        f"3:{{v}}-3.{dist}",
        "hostagent-cuda",
    )


class Archive:
    """Answers questions as a package manager does; `without` are (name, version as NVIDIA writes it) that no repository has."""

    def __init__(self, given: Given, name: str, *, without: "Iterable[tuple[str, str]]" = ()) -> None:
        view = given.view
        gone = set(without)
        self._installed = {one.name: one.version for one in need(need(view.packages).installed)}
        self._known: dict[str, list[Candidate]] = {}
        for shelf in shelves(name, need(need(view.os).arch), need(need(view.kernel).release)):
            for version in shelf.versions:
                for pattern in shelf.names:
                    made = pattern.format(b=version.partition(".")[0], v=version)
                    if (made, version) not in gone and (made, "") not in gone:
                        written = shelf.written.format(v=version)
                        self._known.setdefault(made, []).append(Candidate(made, written, shelf.url, shelf.suite, 1_000_000))

    def answered(self, offers: Offers, questions: Iterable[Question]) -> Offers:
        candidates, transactions = dict(offers.candidates), dict(offers.transactions)
        for question in questions:
            if question.kind == "candidates":
                candidates |= {name: tuple(self._known.get(name, ())) for name in question.words}
            else:
                transactions[question.words] = self._done(question.words)
        return Offers(asked=True, candidates=candidates, transactions=transactions)

    def _done(self, argv: tuple[str, ...]) -> Transaction:
        """As apt, dnf and zypper read the words behind the verb."""
        moved, words = [], argv[argv.index("install") + 1 :]
        for word in (one for one in words if not one.startswith("--")):
            name, version = self._named(word)
            if not version and name.rstrip("-") in self._installed and (word.endswith("-") or word.startswith("-")):
                moved.append(Moved(name.strip("-"), "amd64", self._installed[name.strip("-")], ""))
                continue
            found = next((one for one in self._known.get(name, ()) if version in ("", one.version)), None)
            if found is None:
                if self._installed.get(name) == version:
                    continue
                return Transaction(error=f"Unable to locate {word}")
            if self._installed.get(name) != found.version:
                moved.append(Moved(name, "amd64", self._installed.get(name, ""), found.version, found.url))
        return Transaction(tuple(moved), download_bytes=1_000_000 * len(moved), disk_bytes=3_000_000 * len(moved))

    def _named(self, word: str) -> tuple[str, str]:
        """NAME=VERSION of apt and zypper, NAME-VERSION-RELEASE of dnf."""
        if "=" in word:
            name, _, version = word.partition("=")
            return name, version
        for name in sorted(self._known, key=len, reverse=True):
            if word == name:
                return name, ""
            version = word.removeprefix(f"{name}-")
            if version != word and any(one.version == version for one in self._known[name]):
                return name, version
        return word.strip("-"), ""


def planned(given: Given, archive: Archive) -> Plan:
    """In rounds, as hostagent asks the real one."""
    given = given._replace(offers=Offers(asked=True))
    plan = make(given)
    for _ in range(_ROUNDS):
        if not plan.questions:
            return plan
        given = given._replace(offers=archive.answered(given.offers, plan.questions))
        plan = make(given)
    raise AssertionError(f"still asks: {plan.questions}")


def todo(plan: Plan) -> list[str]:
    return [one.id for one in plan.todo]


def moves(plan: Plan) -> Mapping[str, str | None]:
    """What the plan says of packages: name to version."""
    return {one.name: one.after for one in plan.packages}
