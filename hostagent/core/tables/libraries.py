"""Directories of the driver's user libraries, most usual first.

Sources: packages of Debian, Ubuntu, RHEL and SLES (nvidia-driver-libs, libnvidia-compute, nvidia-compute-G06), NVIDIA's GPU Operator
(driver container). State of 2026-08. Places of platforms are in `platforms`.
"""

#: e_machine of each architecture that the driver has libraries for (elf(5); linux/elf-em.h), by `uname -m`.
MACHINES = {"x86_64": 62, "aarch64": 183}

#: Debian's multiarch, and the 64-bit directory of the others.
SYSTEM = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64")
#: For manual installations; the linker may prefer them.
LOCAL = ("/usr/local/lib", "/usr/local/lib64")
#: Debian's alternatives, and the directories of a driver container.
OF_THE_DRIVER = (
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu",
    "/run/nvidia/driver/usr/lib/aarch64-linux-gnu",
    "/run/nvidia/driver/usr/lib64",
)
