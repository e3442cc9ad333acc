"""NCCL on a host: its libraries and plug-ins, and the settings that a job finds (NVIDIA/nccl, src/misc/param.cc)."""

from typing import Literal

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread

#: "directory": known for NCCL, and not searched by the loader; "setting": a plug-in that a setting names by its path.
Place = Literal["LD_LIBRARY_PATH", "linker", "directory", "python", "setting"]


@frozen
class NcclLibrary:
    """One libnccl.so that a job may load."""

    path: str  # of the file itself, no link
    place: Place  # the search that finds it: the loader's own come first
    version: str | Unread  # 2.28.9, as the library prints it
    cuda: str | Unread  # CUDA that it was built with: 12.9


@frozen
class NcclPlugin:
    """One plug-in of NCCL: libnccl-net.so, libnccl-net-ofi.so, libnccl-tuner.so …"""

    path: str  # as the loader finds it
    names: tuple[str, ...]  # of files by which it is found: libnccl-net.so may be a link to libnccl-net-ofi.so; the path's is the first
    place: Place
    kinds: tuple[str, ...] | Unread  # net, collnet, tuner, profiler, env, gin, rma: by the symbols it has
    needed: tuple[str, ...] | Unread  # libraries that it names
    missing: tuple[str, ...] | Unread  # those that the loader does not find


@frozen
class NcclSetting:
    """One value for a name, from one place."""

    name: str
    value: str  # "" for a name that is not in `hostagent.domains.nccl.tables.variables`
    is_known: bool
    origin: str  # "environment", or the file: /etc/nccl.conf, ~/.nccl.conf, or what NCCL_CONF_FILE names
    line: int  # of the file, from 1; 0 of the environment
    wins: bool  # it is what NCCL sees; the others of this name are ignored

    @property
    def kept(self) -> "str | Unread":
        """The value, or ``Unread``."""
        return self.value if self.is_known else Unread("not-recorded", "hostagent does not know this name: its value is not kept")


@frozen
class Nccl:
    """What a job of this host finds, unless its container brings its own."""

    libraries: tuple[NcclLibrary, ...] | Unread  # in the order in which a job finds them, then by path
    plugins: tuple[NcclPlugin, ...] | Unread
    settings: tuple[NcclSetting, ...] | Unread  # NCCL's, OFI's and libfabric's, in the order in which NCCL meets them
    has_environment: bool | Unread  # a job's environment was given (--env-file): its settings are among them
    files: tuple[str, ...] | Unread  # which of the files that NCCL_TOPO_FILE and NCCL_GRAPH_FILE name are there

    @property
    def is_there(self) -> "bool | Unread":
        """False on a host without any libnccl and without any setting: its jobs bring NCCL in their images."""
        for part in (self.libraries, self.settings):
            if not isinstance(part, Unread) and part:
                return True
        return next((part for part in (self.libraries, self.settings) if isinstance(part, Unread)), False)
