"""Directories with a runtime's images and containers, where neither its flags nor its files name one.

Sources (2026-11): containerd, defaults_unix.go; k3s, pkg/agent/containerd; RKE2, k0s and MicroK8s documentation; moby, daemon/config;
Docker's snap; containers-storage.conf(5); NVIDIA/enroot, enroot.in.
"""

from collections.abc import Mapping

#: By the key of `hostagent.facts.runtime.Runtime`.
DATA: Mapping[str, str] = {
    "containerd": "/var/lib/containerd",
    "docker": "/var/lib/docker",
    "crio": "/var/lib/containers/storage",
    "k3s": "/var/lib/rancher/k3s/agent/containerd",
    "rke2": "/var/lib/rancher/rke2/agent/containerd",
    "k0s": "/var/lib/k0s/containerd",
    "microk8s": "/var/snap/microk8s/common/var/lib/containerd",
}
SNAP_DATA = "/var/snap/docker/common/var-lib-docker"
#: CRI-O's storage where crio.conf does not name it, and podman's.
STORAGE = "/etc/containers/storage.conf"
#: Enroot's directories of containers, images and what it unpacks: each user's own where its file names none.
ENROOT, ENROOT_PATHS = "/etc/enroot/enroot.conf", ("ENROOT_DATA_PATH", "ENROOT_CACHE_PATH", "ENROOT_TEMP_PATH")
