"""The NVIDIA driver: what is loaded, what is on disk, and its origin."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread

#: Where a driver container mounts its root file system on the host.
CONTAINER_ROOT = "/run/nvidia/driver/"


@frozen
class Library:
    """A driver library of the host's own architecture."""

    soname: str  # libnvidia-ml.so.1
    path: str  # /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.159.03, links resolved
    version: str  # "" when the file name carries none
    cached: bool  # in the cache of the dynamic linker; else it is only in a library directory
    package: str | Unread  # owning package, "" when no package owns it
    fault: str | Unread  # why no program can load it, "" for a complete library of the host's architecture


@frozen
class DkmsBuild:
    """One version of the nvidia source in the DKMS tree."""

    module: str  # nvidia, nvidia-open
    version: str
    kernels: tuple[str, ...]  # kernels with a built module
    failed: bool  # the last make.log ended in an error and the build produced nothing for its kernel
    failed_kernel: str
    error: str  # first error line of make.log, "" when there is none
    log: str  # path of that make.log, "" when there is none


@frozen
class DeviceNode:
    """One character device below /dev that belongs to the driver."""

    path: str
    major: int
    minor: int
    mode: int  # permission bits
    uid: int
    gid: int


@frozen
class Driver:
    """The driver stack of one host."""

    loaded: bool | Unread  # /sys/module/nvidia/initstate is live
    loaded_version: str | Unread  # /sys/module/nvidia/version
    loaded_srcversion: str | Unread
    flavour: str | Unread  # of the loaded module: open, proprietary (/proc/driver/nvidia/version)
    proc_version: str | Unread  # version by /proc/driver/nvidia/version
    refcount: int | Unread  # users of the loaded module
    parameters: tuple[tuple[str, str], ...] | Unread  # /proc/driver/nvidia/params
    module_options: tuple[tuple[str, str], ...] | Unread  # nvidia options of /etc/modprobe.d: (name, value)
    libraries: tuple[Library, ...] | Unread  # libnvidia-ml.so.1 and libcuda.so.1, one per file, in the linker's order
    gsp_firmware: tuple[tuple[str, tuple[str, ...]], ...] | Unread  # (version, file names) below /lib/firmware/nvidia
    dkms: tuple[DkmsBuild, ...] | Unread
    runfile_traces: tuple[str, ...] | Unread  # files that only the .run installer creates
    container_driver: bool | Unread  # a driver container (GPU Operator) owns the driver
    container_driver_evidence: tuple[str, ...] | Unread
    device_nodes: tuple[DeviceNode, ...] | Unread
    char_links: tuple[str, ...] | Unread  # names below /dev/char of the driver's majors: "195:0"
    char_majors: tuple[tuple[str, int], ...] | Unread  # /proc/devices: (nvidia-uvm, 511)
    nodes_on_demand: bool | Unread  # a setuid nvidia-modprobe of root creates device nodes at the first use
    persistenced_socket: bool | Unread
    nvml_error_code: int | Unread  # 0, 9, 12, 18 …: nvml.h, nvmlReturn_t
    nvml_driver_version: str | Unread
    confidential_ready: bool | Unread  # the GPUs take work; not-supported where confidential computing is off
    cuda_driver_version: str | Unread  # highest CUDA the driver runs: "13.0"
    cuda_toolkit_version: str | Unread  # /usr/local/cuda/version.json, "" when there is none

    def library(self, soname: str) -> "Library | Unread":
        """The file a program gets for `soname`; absent when the host has none. Of a driver container's host: the container's.

        A file that nothing can load is none.
        """
        if isinstance(self.libraries, Unread):
            return self.libraries
        named = [one for one in self.libraries if one.soname == soname and (isinstance(one.fault, Unread) or not one.fault)]
        if self.container_driver is True:
            named.sort(key=lambda one: not one.path.startswith(CONTAINER_ROOT))
        return named[0] if named else Unread("absent", f"the host has no {soname}")
