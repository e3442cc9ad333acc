"""Configuration rules of container runtimes by version, and the first versions with CDI.

containerd: measured on 2026-11-22 with the programs 1.6.20, 1.7.24, 2.1.4 and 2.3.7, by ``config dump`` and by starting them
(tests/real/test_containerd.py repeats it); additional errors of 2.3.0 to 2.3.4 are from 2.3.4's loader (containerd pull request 12891).
CDI support of the others: documents of the Container Device Interface and of the NVIDIA Container Toolkit (release notes of 1.19.1),
2026-11.
"""

from typing import NamedTuple

GRPC_CRI = "io.containerd.grpc.v1.cri"
CRI_RUNTIME = "io.containerd.cri.v1.runtime"
CRI_IMAGES = "io.containerd.cri.v1.images"
RUNC_V2 = "io.containerd.runc.v2"
SPEC_DIRS = ("/etc/cdi", "/var/run/cdi")


class ContainerdRules(NamedTuple):
    """How one line of versions reads its configuration."""

    since: tuple[int, ...]
    max_config_version: int  # 0: not checked
    deep_merge: bool  # imports merge into the CRI table; otherwise the last file that has the table replaces it
    strict_text: bool  # invalid UTF-8 and a byte order mark are rejected
    missing_import_ok: bool
    globs_from_file: bool  # a relative pattern with a star starts at the file's directory, not at the daemon's /
    uri_prefix: str  # required prefix of plugin names, from configuration version 2 on
    uri_fields: int  # minimum number of dotted fields of such a name
    knows_cdi: bool
    cdi_default: bool
    moves_old_names: tuple[int, ...]  # configuration versions that move tables below the old CRI name to the new one after the merge
    moves_by_file: bool  # each file is migrated to the newest version before the merge
    newer_import_ok: bool  # an import may have a newer configuration version than the first file with one
    measured: bool = True  # False for an unknown or newer version: its errors are unknown too


#: Newest last.
CONTAINERD = (
    ContainerdRules((0, 0), 0, False, False, False, False, "", 4, False, False, (), False, True),
    ContainerdRules((1, 7), 2, False, False, False, True, "io.containerd.", 4, True, False, (), False, True),
    ContainerdRules((2, 0), 3, True, True, True, True, "", 2, True, True, (2,), False, True),
    ContainerdRules((2, 3), 4, True, True, True, True, "", 2, True, True, (), True, False),
    ContainerdRules((2, 3, 5), 4, True, True, True, True, "", 2, True, True, (), True, True),
)

#: Configurations of version 1 have no table for CRI plugins by their full name.
_FIRST_WITH_FULL_NAMES = 2

#: The newest measured line; for newer ones no additional errors are known.
CONTAINERD_MEASURED = (2, 3)

#: Types of the keys that the versions decode: containerd does not start with a value of another type.
_TOP = {
    **dict.fromkeys(("root", "state", "temp", "plugin_dir"), str),
    **dict.fromkeys(("version", "oom_score"), int),
    **dict.fromkeys(("imports", "disabled_plugins", "required_plugins"), list),
    **dict.fromkeys(("plugins", "grpc", "ttrpc", "debug", "metrics", "cgroup", "timeouts", "proxy_plugins", "stream_processors"), dict),
}
_CRI = {
    **dict.fromkeys(
        (
            "device_ownership_from_security_context", "disable_apparmor", "disable_hugetlb_controller", "disable_proc_mount",
            "disable_tcp_service", "enable_selinux", "enable_tls_streaming", "enable_unprivileged_icmp", "enable_unprivileged_ports",
            "ignore_image_defined_volumes", "netns_mounts_under_state_dir", "restrict_oom_score_adj", "tolerate_missing_hugetlb_controller",
        ),
        bool,
    ),
    **dict.fromkeys(("max_concurrent_downloads", "max_container_log_line_size", "selinux_category_range", "stats_collect_period"), int),
    **dict.fromkeys(("stream_idle_timeout", "stream_server_address", "stream_server_port", "unset_seccomp_profile"), str),
    **dict.fromkeys(("cni", "containerd", "image_decryption", "registry", "x509_key_pair_streaming"), dict),
}  # fmt: skip
_CRI_1 = {"disable_cgroup": bool, "systemd_cgroup": bool, "sandbox_image": str}
_CRI_CDI = {
    **dict.fromkeys(("enable_cdi", "image_pull_with_sync_fs"), bool),
    **dict.fromkeys(("drain_exec_sync_io_timeout", "image_pull_progress_timeout"), str),
    "cdi_spec_dirs": list,
    "ignore_deprecation_warnings": list,
}
_DEFAULTS = {"default_runtime_name": str, "runtimes": dict, "ignore_rdt_not_enabled_errors": bool}
_DEFAULTS_1 = {
    **dict.fromkeys(("disable_snapshot_annotations", "discard_unpacked_layers", "no_pivot"), bool),
    **dict.fromkeys(("default_runtime", "untrusted_workload_runtime"), dict),
    "snapshotter": str,
}
_HANDLER = {
    **dict.fromkeys(("base_runtime_spec", "cni_conf_dir", "runtime_path", "runtime_type"), str),
    **dict.fromkeys(("container_annotations", "pod_annotations"), list),
    "cni_max_conf_num": int,
    "privileged_without_host_devices": bool,
    "options": dict,
}
_HANDLER_1 = {"runtime_engine": str, "runtime_root": str}


class Schema(NamedTuple):
    """Key to type, by table."""

    top: dict[str, type]
    cri: dict[str, type]
    containerd: dict[str, type]
    handler: dict[str, type]


def has_full_names(config_version: int) -> bool:
    """Whether a containerd configuration of this version names plugins in full, as NVIDIA's tool and its drop-ins do.

    >>> has_full_names(1), has_full_names(2)
    (False, True)
    """
    return config_version >= _FIRST_WITH_FULL_NAMES


def schema(rules: ContainerdRules) -> Schema:
    """The keys that this line of versions decodes with a type."""
    if rules.moves_by_file:
        return Schema(_TOP, {**_CRI, **_CRI_CDI, "stats_collect_period": str}, _DEFAULTS, _HANDLER)
    if rules.deep_merge:
        return Schema(_TOP, {**_CRI, **_CRI_CDI}, _DEFAULTS, _HANDLER)
    cdi = _CRI_CDI if rules.knows_cdi else {}
    return Schema(_TOP, {**_CRI, **_CRI_1, **cdi}, {**_DEFAULTS, **_DEFAULTS_1}, {**_HANDLER, **_HANDLER_1})


#: From this version on, Docker enables CDI by default (Docker Engine release notes).
DOCKER_CDI_DEFAULT = "28.3"
#: From this version on, dockerd merges runtimes of daemon.json and --add-runtime; before, it did not start (moby pull request 37871).
DOCKER_MERGES_RUNTIMES = "18.09"
#: CRI-O's built-in default runtime is crun from this version on, runc before (CRI-O release notes).
CRIO_CRUN_DEFAULT = "1.31"
#: CRI-O's default hooks_dir (crio.conf(5), oci-hooks(5)).
CRIO_HOOKS = "/usr/share/containers/oci/hooks.d"

#: NVIDIA's entries in a distribution's template on every node, used or not (canonical/microk8s, containerd-template.toml).
TEMPLATE_ENTRIES = frozenset({("microk8s", "nvidia-container-runtime")})
#: Units that start each runtime, without .service; a socket unit starts it on the first connection.
RUNTIME_UNITS = {
    "containerd": ("containerd",),
    "k3s": ("k3s", "k3s-agent"),
    "rke2": ("rke2-server", "rke2-agent"),
    "microk8s": ("snap.microk8s.daemon-containerd",),
    "k0s": ("k0sworker", "k0scontroller"),
    "docker": ("docker", "docker.socket", "snap.docker.dockerd"),
    "crio": ("crio",),
}
#: Programs that unpack their runtime and write its configuration at their first start (each project's installer and packages, 2026-11).
FIRST_START = {
    "k3s": ("/usr/local/bin/k3s", "/usr/bin/k3s", "/opt/bin/k3s"),
    "rke2": ("/usr/local/bin/rke2", "/usr/bin/rke2", "/opt/rke2/bin/rke2"),
    "k0s": ("/usr/local/bin/k0s", "/usr/bin/k0s", "/opt/bin/k0s"),
}
_TOOLKIT_FOUND = ("/usr/local/nvidia/toolkit/nvidia-container-runtime", "/usr/bin/nvidia-container-runtime")
#: Those that then write an nvidia entry if the toolkit's runtime exists, with its paths (k3s, pkg/agent/containerd/runtimes.go).
FINDS_TOOLKIT = {"k3s": _TOOLKIT_FOUND, "rke2": _TOOLKIT_FOUND}
#: Units that run a kubelet, and its distribution: "" for a plain kubelet (each project's unit files; snaps of EKS, Kubernetes and
#: MicroK8s, 2026-11).
KUBELET_UNITS = {
    **dict.fromkeys(("kubelet", "snap.kubelet-eks.daemon", "snap.kubelet.daemon", "snap.k8s.kubelet"), ""),
    **dict.fromkeys(("k3s", "k3s-agent"), "k3s"),
    **dict.fromkeys(("rke2-server", "rke2-agent"), "rke2"),
    **dict.fromkeys(("snap.microk8s.daemon-kubelite", "snap.microk8s.daemon-kubelet"), "microk8s"),
    **dict.fromkeys(("k0sworker", "k0scontroller"), "k0s"),
    "microshift": "microshift",
}
#: Of these only a kubelet in their cgroup counts, not that they are enabled: most of them run none.
KUBELET_SEEN_ONLY = frozenset({"k0scontroller"})
#: Distributions' files that may name another runtime (k3s, Configuration File; rke2 has no Docker).
KUBELET_FILES = {"k3s": "/etc/rancher/k3s/config.yaml", "rke2": "/etc/rancher/rke2/config.yaml"}
#: Paths of a kubelet's configuration if its command line cannot be read: kubeadm, EKS (AL2023, AL2).
KUBELET_CONFIGS = (
    "/var/lib/kubelet/config.yaml",
    "/etc/kubernetes/kubelet/config.json",
    "/etc/kubernetes/kubelet/kubelet-config.json",
)
#: Credentials of a kubelet that has joined a cluster: kubeadm; EKS, AKS, GKE and OpenShift; Bottlerocket (each project's unit files).
KUBELET_CREDENTIALS = ("/etc/kubernetes/kubelet.conf", "/var/lib/kubelet/kubeconfig", "/etc/kubernetes/kubelet/kubeconfig")
#: The endpoint of a distribution that uses a runtime of the host (openshift/microshift, pkg/node/kubelet.go).
KUBELET_SOCKETS = {"microshift": "/run/crio/crio.sock"}
#: The kubelet's default endpoint (KubeletConfiguration v1beta1, containerRuntimeEndpoint).
KUBELET_ENDPOINT = "/run/containerd/containerd.sock"
#: cri-dockerd's socket, a separate daemon; k3s includes it, and kubelets before 1.24 did: all of them use Docker.
CRI_DOCKERD, K3S_DOCKER = "/run/cri-dockerd.sock", "/run/k3s/cri-dockerd/cri-dockerd.sock"
DOCKER_ENDPOINTS = (CRI_DOCKERD, "/run/dockershim.sock", K3S_DOCKER)
#: Directories with the sockets of kubelets' plug-ins.
KUBELET_ROOTS = ("/var/lib/kubelet", "/var/lib/k0s/kubelet")
DRA_DRIVER = "gpu.nvidia.com"
NRI_SOCKET = "/run/nri/nri.sock"
#: Directories of a driver that a provider's device plugin mounts into containers (GKE: container-engine-accelerators, nvidia_gpu).
PROVIDER_MOUNTS = ("/home/kubernetes/bin/nvidia/lib64",)
