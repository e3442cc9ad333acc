"""Where hosts and images keep NCCL, its plug-ins, and the Python installations that bring them.

Sources: NVIDIA's packages libnccl2 and nvidia-nccl-cu12 (nvidia/nccl/lib), HPC SDK and HPC-X; AWS: EFA installer (/opt/amazon/ofi-nccl) and
Deep Learning AMIs; GoogleCloudPlatform/container-engine-accelerators (gIB, GPUDirect-TCPX and -TCPXO); NVIDIA/nccl, src/plugin (names of
plug-ins). Places of the linker itself are in `libraries`. State of 2026-11.
"""

import re

#: NCCL itself: libnccl.so, libnccl.so.2, libnccl.so.2.28.9.
LIBRARY = re.compile(r"libnccl\.so(?:\.[0-9]{1,4}){0,4}", re.ASCII)
#: Its plug-ins: libnccl-net.so, libnccl-net-ofi.so, libnccl-ofi-tuner.so, libnccl-net_internal.so.
PLUGIN = re.compile(r"libnccl-[\w.+-]{1,100}?\.so(?:\.[0-9]{1,4}){0,4}", re.ASCII)
#: Both, as names of the linker's cache begin.
CACHED = ("libnccl.so*", "libnccl-*")

#: With * in a part for any text. What is most specific comes first: of two names for one file the first is shown.
DIRECTORIES = (
    "/opt/amazon/*ofi-nccl/lib*",
    "/opt/amazon/*ofi-nccl/lib/*-linux-gnu",
    "/opt/aws-ofi-nccl/lib*",
    "/opt/aws-ofi-nccl/install/lib",
    "/usr/local/gib/lib64",
    "/usr/local/tcpx/lib64",
    "/usr/local/fastrak/lib64",
    "/usr/local/nccl*/lib*",
    "/usr/local/nccl*/build/lib",
    "/opt/nccl*/lib*",
    "/opt/nccl*/build/lib",
    "/opt/hpcx*/nccl*_plugin/lib",
    "/usr/local/nccl-rdma-sharp-plugins/lib",
    "/opt/nvidia/nccl*/lib*",
    "/opt/nvidia/hpc_sdk/Linux_*/*/comm_libs/nccl/lib",
    "/usr/local/cuda*/lib64",
    "/usr/local/cuda*/lib",
    "/usr/local/cuda*/efa/lib",
)
#: Where Python packages are.
PACKAGES = (
    "/usr/lib/python3/dist-packages",
    "/usr/lib/python3.*/site-packages",
    "/usr/lib64/python3.*/site-packages",
    "/usr/local/lib/python3.*/dist-packages",
    "/usr/local/lib/python3.*/site-packages",
    "/usr/local/lib64/python3.*/site-packages",
)
#: What may be an installation of Python of its own (conda, venv), where it has bin/python3.
INSTALLATIONS = (
    *("/opt/*", "/opt/*/venv", "/opt/*/envs/*"),
    *("/usr/local/*conda*", "/usr/local/*conda*/envs/*"),
    *("/venv", "/.venv", "/app/.venv"),
)
#: Below the packages: NVIDIA's own package, and one library within PyTorch.
IN_PACKAGES, IN_TORCH = "nvidia/nccl/lib", "torch/lib/libnccl.so.2"

#: What a job has loaded before NCCL loads a plug-in, or what comes with the driver: a plug-in that needs them lacks nothing here.
LOADED_BEFORE = re.compile(r"lib(?:nccl|cuda|cudart|nvidia-ml)\.so(?:\.[0-9]{1,4}){0,4}|ld-linux-[\w-]{1,20}\.so\.[0-9]", re.ASCII)

#: Symbol to kind: ncclNetPlugin_v10, ncclCollNetPlugin_v10, ncclTunerPlugin_v4, ncclProfiler_v5 …
KINDS = {"Net": "net", "CollNet": "collnet", "Tuner": "tuner", "Profiler": "profiler", "Env": "env", "Gin": "gin", "Rma": "rma"}
