"""Names of what runs an NVLink fabric on a host, and how a host shows that it has one.

Sources: NVIDIA Fabric Manager User Guide (release 580: packages, service, NVLink 5 and nvlsm), NVIDIA Driver Installation
Guide (the packages of 580 and later have no branch in their names), NVIDIA IMEX Service Guide, open-gpu-kernel-modules
linux_nvswitch.c (driver name). State of 2026-08.
"""

MANAGER_UNIT = "nvidia-fabricmanager"
MANAGER_PROCESS = "nv-fabricmanager"
MANAGER_PACKAGES = ("nvidia-fabricmanager", "nvidia-fabric-manager")
NVLSM_PROCESS = "nvlsm"
#: Modules without which nvlsm cannot reach the switches of NVLink 5.
NVLSM_MODULES = ("mlx5_core", "ib_umad")
IMEX_UNIT = "nvidia-imex"
IMEX_PROCESS = "nvidia-imex"
IMEX_PACKAGES = ("nvidia-imex",)
#: Through these DCGM and other monitors talk to the switches; a version other than the driver's sees none.
LIBRARY_PACKAGES = ("libnvidia-nscq", "libnvsdm")
NVSWITCH_DRIVER = "nvidia-nvswitch"
#: What the fabric manager logs when its version is not the driver's.
MISMATCH = "don't match with driver version"
#: Ranges of PCI device ids, as sysfs writes them, of the GPUs of HGX B200 and B300
#: baseboards: their NVLink 5 switches show as bridges of ConnectX-7 HCAs.
BASEBOARD_GPUS = (("0x2900", "0x293f"), ("0x3180", "0x31bf"))
