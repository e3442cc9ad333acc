"""NCCL on a host: the library of a package or of a Python wheel, plug-ins, settings, and the linker's cache that has them.

Sources: file list of Ubuntu's libnccl2 (packages.ubuntu.com), whose paths NVIDIA's own package has too; PyPI, nvidia-nccl-cu12;
aws-samples/awsome-distributed-training (what /opt/amazon/ofi-nccl/lib/x86_64-linux-gnu holds, and ``ldconfig -p``).
"""

from hostagent.domains.driver.read_ld_cache import parse_ldcache
from tests.trees import formats, packages
from tests.trees.tree import INSTALLED_AT, Tree

VERSION, CUDA = "2.28.9", "13.0"
CONF = "/etc/nccl.conf"
#: aws/aws-ofi-nccl 1.15 offers them; libfabric and hwloc come with the EFA installer and the distribution.
_OFI_NET = tuple(f"nccl{kind}Plugin_v{version}" for kind in ("Net", "CollNet") for version in (6, 7, 8, 9, 10))
_OFI = "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu"
_EFA = "/opt/amazon/efa/lib"


def package(tree: Tree, version: str = VERSION, cuda: str = CUDA) -> None:
    """libnccl2 of NVIDIA's repository."""
    file = f"libnccl.so.{version}"
    tree.write(f"{tree.libraries}/{file}", formats.nccl_library(version, cuda, arch=tree.arch))
    tree.link(f"{tree.libraries}/libnccl.so.2", file)
    tree.link(f"{tree.libraries}/libnccl.so", "libnccl.so.2")
    packages.dpkg(tree, {"libnccl2": f"{version}-1+cuda{cuda}"}, held=("libnccl2",))
    packages.files_of(tree, "libnccl2", f"{tree.libraries}/libnccl.so.2", f"{tree.libraries}/{file}")
    cached(tree, *((name, f"{tree.libraries.removeprefix('/usr')}/{name}") for name in ("libnccl.so.2", "libnccl.so")))


def wheel(tree: Tree, packages_at: str, version: str, cuda: str) -> None:
    """nvidia-nccl-cu12 or -cu13, as PyTorch wants it."""
    tree.write(f"{packages_at}/nvidia/nccl/lib/libnccl.so.2", formats.nccl_library(version, cuda, arch=tree.arch))


def settings(tree: Tree, *lines: str, time: float = INSTALLED_AT) -> None:
    tree.write(CONF, "".join(f"{line}\n" for line in lines), time=time)


def ofi(tree: Tree) -> None:
    """EFA's installer: aws-ofi-nccl, and libfabric in a directory that the linker's configuration names."""
    system(tree)
    needed = ("libc.so.6", "libfabric.so.1", "libhwloc.so.15", "libm.so.6", "libpthread.so.0")
    tree.write(f"{_OFI}/libnccl-net.so", formats.nccl_library(symbols=_OFI_NET, needed=needed, arch=tree.arch))
    tuner = formats.nccl_library(symbols=("ncclTunerPlugin_v2", "ncclTunerPlugin_v3"), needed=needed[:1], arch=tree.arch)
    tree.write(f"{_OFI}/libnccl-ofi-tuner.so", tuner)
    tree.write(f"{tree.libraries}/libhwloc.so.15", formats.shared_library(tree.arch))
    cached(tree, ("libhwloc.so.15", f"/lib/{tree.libraries.rpartition('/')[2]}/libhwloc.so.15"))
    cached(tree, *((name, f"{_OFI}/{name}") for name in ("libnccl-net.so", "libnccl-ofi-tuner.so")))
    tree.write(f"{_EFA}/libfabric.so.1.25.0", formats.shared_library(tree.arch))
    tree.link(f"{_EFA}/libfabric.so.1", "libfabric.so.1.25.0")
    cached(tree, ("libfabric.so.1", f"{_EFA}/libfabric.so.1"))


def system(tree: Tree) -> None:
    """The C library, for what a plug-in needs of it."""
    for name in ("libc.so.6", "libm.so.6", "libpthread.so.0"):
        tree.write(f"{tree.libraries}/{name}", formats.shared_library(tree.arch))
        cached(tree, (name, f"{tree.libraries.removeprefix('/usr')}/{name}"))


def cached(tree: Tree, *entries: tuple[str, str]) -> None:
    """ldconfig has found them too."""
    _keep(tree, *dict.fromkeys((*_entries(tree), *entries)))


def forget(tree: Tree, soname: str) -> None:
    """ldconfig ran without the directory."""
    _keep(tree, *(entry for entry in _entries(tree) if entry[0] != soname))


def _entries(tree: Tree) -> list[tuple[str, str]]:
    place = tree.at("/etc/ld.so.cache")
    found = parse_ldcache(place.read_bytes(), ("*",)) if place.exists() else ()
    if not isinstance(found, tuple):
        raise TypeError(found.detail)
    return [tuple(entry) for entry in found]


def _keep(tree: Tree, *entries: tuple[str, str]) -> None:
    tree.write("/etc/ld.so.cache", formats.linker_cache(entries, tree.arch))
