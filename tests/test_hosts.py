"""Recorded hosts: judged as their expectation says, with the defect that each stands for; and no lost answer ever helps one."""

import collections
import functools
import json
import os
import re
import shutil
import zlib
from dataclasses import replace

import pytest
from click.testing import CliRunner

from hostagent import snapshot
from hostagent.cli import LazyGroup
from hostagent.core.tables.platforms import owners_way, repairs_itself
from hostagent.core.unread import Unread, UnreadError
from hostagent.engine.catalogue import OURS, load
from hostagent.engine.collect import ALL_READERS, READERS, collect
from hostagent.engine.collection import InProcess
from hostagent.engine.evaluate import evaluate, proved
from hostagent.engine.report import PLACEABLE, verdicts
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.platform import Platform
from hostagent.host import recording
from hostagent.host.recording import ReplayBackend
from hostagent.host.source import Source
from hostagent.profiles import profile
from tests.firsts import first_cause, holds, told
from tests.judged import judged
from tests.over import over
from tests.recorded import HOSTS, NAMES, PAIRED, each_host, expectation_of, pairs, profile_of, report_of, tape_of
from tests.trees.record import KEY, RECIPES, claimed
from tests.trees.staged import stage

#: What a person may have set who looks at a host: nothing of it is the host's.
OURS_ALONE = {
    "NCCL_IB_DISABLE": "1",
    "NCCL_NET": "Socket",
    "NCCL_SOCKET_IFNAME": "lo",
    "NCCL_CONF_FILE": "/etc/hosts",
    "FI_PROVIDER": "tcp",
}
#: Judgements that each host was made for, whatever its expect.yaml says: (outcome, check, subject).
MADE_FOR = {
    "hgx-h100-ubuntu2404": [("pass", "nccl.network", ""), ("pass", "nccl.interface", ""), ("pass", "nccl.versions", "")],
    "hgx-h100-userland-upgraded": [
        ("fail", "driver.library_match", ""),
        ("fail", "driver.nvml_initialises", ""),
        ("fail", "driver.reload_needed", ""),
        ("fail", "driver.security_floor", ""),
        ("fail", "cdi.missing_paths", ""),
        ("fail", "host.reboot_pending", ""),
        ("unknown", "gpu.row_remap", "0000:1b:00.0"),
        ("unknown", "gpu.lost", "0000:1b:00.0"),
        ("pass", "driver.package_set_equal", ""),
    ],
    "hgx-h100-next-kernel-without-module": [
        ("fail", "kernel.next_has_module", ""),
        ("fail", "kernel.headers", ""),
        ("fail", "driver.dkms_built", ""),
        ("pass", "kernel.module_present", ""),
    ],
    "hgx-h100-gpu-off-the-bus": [
        ("fail", "gpu.on_bus", "0000:9d:00.0"),
        ("fail", "gpu.lost", "0000:9d:00.0"),
        ("fail", "gpu.xid", "0000:9d:00.0"),
        ("unknown", "gpu.row_remap", "0000:9d:00.0"),
        ("pass", "gpu.on_bus", "0000:c3:00.0"),
        ("pass", "gpu.count_agrees", "0000:9d:00.0"),
    ],
    "hgx-h100-fabricmanager-mismatch": [
        ("fail", "nvswitch.manager_version", ""),
        ("fail", "nvswitch.manager_running", ""),
        ("fail", "nvswitch.manager_errors", ""),
        ("fail", "driver.package_set_equal", ""),
        ("fail", "gpu.fabric_state", "0000:1b:00.0"),
        ("pass", "nvswitch.visible", ""),
    ],
    "gpu-operator-driver-container": [
        ("fail", "driver.security_floor", ""),
        ("fail", "toolkit.known_vulnerability", ""),
        ("pass", "driver.owner", ""),
    ],
    "rhel9-module-streams": [("pass", "driver.module_stream", ""), ("pass", "driver.rpm_scriptlet", "")],
    "debian12-runfile": [("fail", "driver.runfile", ""), ("pass", "runtime.handler_binary", "docker")],
    "k3s-worker": [("pass", "runtime.handler_binary", "k3s")],
    "t4-workstation-docker": [("pass", "kernel.secure_boot", "")],
    "tao-docker": [("pass", "runtime.nvidia_handler", "")],
    "tao-kubernetes": [("pass", "toolkit.version", "")],
    "no-gpu-vm": [("fail", "gpu.present", ""), ("fail", "driver.loaded", ""), ("skip", "gpu.on_bus", "")],
    "gb200-nvl": [
        ("pass", "driver.coherent_memory", ""),
        ("skip", "nvswitch.manager_running", ""),
        ("pass", "topology.gpu_numa", "0008:01:00.0"),
    ],
    "epyc-nps4": [
        ("pass", "topology.gpu_numa", "0000:41:00.0"),
        ("pass", "topology.nic_width", "0000:05:00.0"),
        ("skip", "topology.cpu_nodes", ""),
    ],
    "one-socket": [("skip", "topology.gpu_numa", "0000:41:00.0"), ("skip", "topology.governor", "")],
    "vm-flat-tree": [
        ("fail", "topology.gpu_numa", "0000:05:00.0"),
        ("fail", "topology.nic_numa", "0000:09:00.0"),
        ("skip", "topology.governor", ""),
    ],
    "kubeadm-single-numa-node": [("fail", "kubelet.full_node", ""), ("pass", "kubelet.config_accepted", "")],
    "eks-by-flags": [("pass", "kubelet.full_node", ""), ("pass", "kubelet.config_accepted", "")],
    "hgx-h100-narrow-nic": [("fail", "topology.nic_width", "0000:9a:00.0"), ("pass", "topology.nic_width", "0000:18:00.0")],
    "hgx-h100-acs-on": [("fail", "topology.acs", ""), ("pass", "topology.iommu", "")],
    "hgx-h100-without-peermem": [("fail", "topology.gpudirect", "")],
    "hgx-h100-ib-without-sm": [("fail", "rdma.subnet_manager", ""), ("fail", "rdma.port_state", "")],
    "hgx-h100-nccl-ib-disabled": [("fail", "nccl.ib_disable", ""), ("warn", "nccl.network", ""), ("pass", "nccl.interface", "")],
    "hgx-h100-nccl-not-docker": [("fail", "nccl.interface", ""), ("pass", "nccl.ib_disable", "")],
    "hgx-h100-nccl-prefix": [("fail", "nccl.ib_hca", ""), ("pass", "rdma.link_layer", "")],
    "hgx-h100-roce": [("pass", "network.mtu", ""), ("pass", "rdma.gid", ""), ("pass", "network.pfc", "")],
    "hgx-h100-roce-one-rail-1500": [("fail", "network.mtu", "mlx5_3:1"), ("fail", "rdma.active_mtu", "mlx5_3:1")],
    "hgx-h100-roce-one-subnet": [("fail", "network.rail_subnets", ""), ("pass", "network.mtu", "")],
    "hgx-h100-roce-vlan-on-bond": [("pass", "network.bond_ports", ""), ("pass", "network.mtu_below", ""), ("pass", "rdma.present", "")],
    "hgx-h100-roce-bond-half": [("fail", "network.bond_ports", "mlx5_bond_2:1"), ("pass", "rdma.port_state", "")],
    "hgx-h100-roce-exclusive": [("fail", "rdma.netns_mode", "")],
    "hgx-h100-roce-sriov": [("pass", "rdma.present", "")],
    "sriov-pod": [("pass", "rdma.nodes", ""), ("pass", "rdma.netdev_together", "")],
    "p5-efa": [("skip", "rdma.subnet_manager", ""), ("skip", "rdma.gid", ""), ("pass", "rdma.port_state", ""), ("pass", "nccl.efa", "")],
    "p5-efa-without-libfabric": [("fail", "nccl.net_plugin", ""), ("pass", "rdma.port_state", "")],
    "azure-nd-h100-v5": [
        ("pass", "rdma.port_rate", ""),
        ("pass", "rdma.link_layer", ""),
        ("skip", "topology.acs", ""),
        ("pass", "nccl.topology_file", ""),
    ],
    "cloud-vm-1500": [("skip", "rdma.present", ""), ("skip", "network.mtu", "")],
    "hgx-a100": [("pass", "nvswitch.board", ""), ("pass", "nvswitch.links", ""), ("pass", "nvswitch.manager_errors", "")],
    "hgx-a100-manager-stayed": [("fail", "nvswitch.manager_errors", ""), ("pass", "nvswitch.manager_running", "")],
    "hgx-b200": [
        ("pass", "nvswitch.board", ""),
        ("pass", "nvswitch.nvlsm_running", ""),
        ("skip", "nvswitch.bound", ""),
        ("pass", "rdma.port_state", ""),
    ],
    "p5-vm": [("pass", "nvswitch.board", "")],
    "p5-vm-seven-gpus": [("fail", "nvswitch.board", ""), ("pass", "gpu.present", "")],
    "hgx-h100-three-switches": [("fail", "nvswitch.board", ""), ("pass", "nvswitch.visible", "")],
    "hgx-h100-links-down": [("fail", "nvswitch.links", ""), ("skip", "gpu.nvlink_active", "0000:1b:00.0")],
    "kubevirt-mixed": [("pass", "gpu.present", ""), ("skip", "gpu.passthrough", "0000:61:00.0"), ("skip", "gpu.bound", "0000:61:00.0")],
    "kubevirt-all": [("fail", "gpu.present", "")],
    "kubevirt-unexplained": [("warn", "gpu.passthrough", "0000:61:00.0"), ("skip", "gpu.passthrough", "0000:52:00.0")],
    "workstation-display-card": [("skip", "gpu.bound", "0000:43:00.0"), ("skip", "kernel.nouveau_loaded", "")],
    "workstation-nouveau-has-both": [("fail", "gpu.bound", "0000:1b:00.0"), ("fail", "kernel.nouveau_loaded", "")],
    "dgx-spark": [("pass", "driver.open_supported", "000f:01:00.0")],
    "g5-manager-of-another-branch": [("pass", "driver.package_set_equal", ""), ("warn", "nvswitch.unused_packages", "")],
    "g5-contained-error": [("warn", "gpu.ecc_uncorrectable", "0000:1b:00.0"), ("warn", "gpu.xid", "0000:1b:00.0")],
    "g5-uncontained-error": [("fail", "gpu.ecc_uncorrectable", "0000:1b:00.0"), ("fail", "gpu.xid", "0000:1b:00.0")],
    "t4-xid-before-reset": [("pass", "gpu.xid", ""), ("warn", "gpu.xid_ended", "0000:1b:00.0")],
    "t4-xid-after-reset": [("fail", "gpu.xid", "0000:1b:00.0")],
    "t4-xid-cleared": [("warn", "gpu.faults_cleared", "0000:1b:00.0"), ("pass", "gpu.xid", "")],
    "t4-log-wrapped": [("warn", "gpu.xid", "")],
    "t4-nouveau-boot-line": [("pass", "gpu.init_failed", "")],
    "pinned-second-kernel": [("pass", "kernel.next_has_module", ""), ("pass", "kernel.boot_entry", "")],
    "pinned-first-kernel": [("fail", "kernel.next_has_module", "")],
    "saved-entry-of-a-removed-kernel": [("pass", "kernel.next_has_module", ""), ("pass", "kernel.boot_entry", "")],
    "saved-entry-without-module": [("fail", "kernel.next_has_module", "")],
    "rhel9-bls-saved": [("pass", "kernel.next_has_module", ""), ("pass", "driver.dkms_built", "")],
    "rhel9-bls-newest": [("fail", "kernel.next_has_module", "")],
    "amazon-linux-2023": [("pass", "kernel.next_has_module", "")],
    "almalinux9-weak-modules": [("pass", "kernel.module_vermagic", ""), ("pass", "kernel.secure_boot", "")],
    "almalinux9-copied-module": [("warn", "kernel.module_vermagic", "")],
    "sles15-kmp": [("pass", "kernel.module_vermagic", ""), ("pass", "driver.package_origin", ""), ("pass", "kernel.boot_entry", "")],
    "sles15-next-entry": [("fail", "kernel.next_has_module", "")],
    "libraries-cut-short": [("fail", "driver.library_present", "")],
    "uvm-nodes-later": [("fail", "driver.device_majors", "")],
    "uvm-nodes-never": [("fail", "driver.device_majors", "")],
    "debian12-own-driver": [("pass", "kernel.module_present", ""), ("pass", "driver.library_match", "")],
    "debian12-own-driver-pinned-580": [("fail", "driver.version", "")],
    "debian12-alternative-gone": [("fail", "kernel.module_present", ""), ("fail", "driver.loaded", "")],
    "debian12-image-without-kernel": [
        ("fail", "driver.version", ""),
        ("fail", "kernel.image_present", ""),
        ("pass", "kernel.module_present", ""),
    ],
    "eks-gpu": [("pass", "runtime.handler_cgroup", "containerd")],
    "eks-gpu-without-handler": [("fail", "runtime.nvidia_handler", "containerd")],
    "aks-gpu-containerd-2.3": [("pass", "runtime.config_accepted", "containerd"), ("pass", "runtime.handler_cgroup", "containerd")],
    "aks-gpu-other-cgroups": [("fail", "runtime.handler_cgroup", "containerd")],
    "kubeadm-beside-docker": [("pass", "runtime.service_running", "")],
    "kubeadm-containerd-dead": [("fail", "runtime.service_running", "containerd"), ("skip", "runtime.config_accepted", "docker")],
    "kubeadm-without-cri": [("fail", "runtime.cri_enabled", "containerd")],
    "kubeadm-without-access": [("fail", "runtime.nvidia_handler", "containerd")],
    "gpu-operator-nri": [("pass", "runtime.nvidia_handler", "")],
    "gpu-operator-left-behind": [("fail", "runtime.nvidia_handler", "containerd")],
    "gpu-operator-mig": [("skip", "cdi.devices_cover_gpus", "0000:1b:00.0")],
    "gpu-operator-dra": [("pass", "runtime.nvidia_handler", ""), ("skip", "cdi.spec_present", "")],
    "gpu-operator-dra-without-plugin": [("fail", "runtime.nvidia_handler", "containerd")],
    "docker-by-flag": [("pass", "runtime.nvidia_handler", "")],
    "docker-by-flag-and-file": [("fail", "runtime.config_accepted", "docker"), ("fail", "runtime.service_running", "docker")],
    "docker-hook": [("pass", "runtime.nvidia_handler", ""), ("skip", "runtime.config_accepted", "containerd")],
    "docker-hook-missing": [("fail", "runtime.nvidia_handler", "docker")],
    "crio-worker": [("pass", "runtime.handler_binary", "crio")],
    "crio-hook": [("pass", "runtime.nvidia_handler", "")],
    "crio-worker-wrong-directory": [("fail", "runtime.nvidia_handler", "crio"), ("fail", "runtime.crio_dropin_path", "crio")],
    "k3s-started-before-toolkit": [("fail", "runtime.nvidia_handler", "k3s")],
    "slurm-enroot": [("pass", "runtime.present", ""), ("fail", "runtime.daemonless", "")],
    "slurm-dead-docker": [("fail", "runtime.service_running", "docker"), ("pass", "slurm.slurmd_running", "")],
    "slurm-gres": [("pass", "slurm.slurmd_running", ""), ("pass", "slurm.gres", ""), ("pass", "slurm.health_program", "")],
    "slurm-dead": [("fail", "slurm.slurmd_running", ""), ("pass", "slurm.gres", "")],
    "slurm-gres-five": [("fail", "slurm.gres", ""), ("fail", "slurm.slurmd_running", "")],
    "slurm-health-never": [("warn", "slurm.health_program", ""), ("pass", "slurm.slurmd_running", "")],
    "podman-cdi": [("pass", "runtime.present", ""), ("fail", "runtime.daemonless", "")],
    "podman-without-cdi": [("fail", "runtime.present", "")],
    "toolkit-ldconfig": [("fail", "toolkit.config_values", "")],
    "toolkit-root-left-behind": [("fail", "toolkit.config_values", "")],
    "gke-cos": [("pass", "driver.library_present", ""), ("pass", "driver.gsp_firmware", ""), ("pass", "runtime.nvidia_handler", "")],
    "gke-cos-without-plugin": [("fail", "runtime.nvidia_handler", "containerd")],
    "gke-ubuntu": [("pass", "driver.library_present", ""), ("skip", "toolkit.installed", "")],
    "gke-ubuntu-libraries-empty": [("fail", "driver.library_present", "")],
    "talos": [
        ("pass", "driver.library_present", ""),
        ("pass", "runtime.nvidia_handler", ""),
        ("pass", "toolkit.binary", ""),
        ("skip", "kubelet.running", ""),
    ],
    "talos-without-toolkit": [("fail", "runtime.nvidia_handler", "containerd"), ("fail", "toolkit.installed", "")],
    "bottlerocket": [("pass", "driver.library_match", ""), ("skip", "cdi.etc_copy", "")],
    "bottlerocket-ldconfig-failed": [("fail", "driver.library_present", "")],
    "flatcar": [("skip", "kernel.module_present", ""), ("pass", "driver.library_match", "")],
    "flatcar-after-update": [("fail", "driver.loaded", ""), ("fail", "kernel.module_present", "")],
    "openshift": [("pass", "driver.owner", ""), ("pass", "runtime.nvidia_handler", "")],
    "openshift-driver-pod-gone": [("fail", "driver.loaded", "")],
    "eks-al2023": [("pass", "driver.dkms_built", ""), ("skip", "driver.module_stream", "")],
    "eks-al2023-image": [("skip", "kernel.module_present", ""), ("pass", "driver.version", "")],
    "eks-al2023-image-of-another-kernel": [("fail", "kernel.module_present", "")],
    "eks-al2023-module-did-not-load": [("fail", "driver.loaded", ""), ("fail", "kernel.module_present", "")],
    "wsl2": [("unknown", "os.platform", ""), ("skip", "gpu.present", ""), ("skip", "driver.loaded", "")],
    "wsl2-fault": [("fail", "gpu.xid", "0000:1b:00.0")],
    "jetson-orin": [("unknown", "os.platform", ""), ("skip", "gpu.present", ""), ("skip", "driver.loaded", "")],
    "incus-slurm": [("skip", "kernel.module_present", ""), ("pass", "gpu.xid", "")],
    "incus-slurm-xid": [("fail", "gpu.xid", "0000:1b:00.0")],
    "incus-slurm-without-log": [("unknown", "gpu.xid", "")],
    "microk8s-addon": [("pass", "runtime.handler_binary", "microk8s"), ("skip", "runtime.operator_owned", "microk8s")],
    "microk8s-without-addon": [("fail", "runtime.handler_binary", "microk8s")],
    "docker-snap": [("pass", "toolkit.installed", ""), ("pass", "toolkit.version", "")],
    "docker-snap-without-entry": [("fail", "runtime.nvidia_handler", "docker"), ("pass", "toolkit.installed", "")],
    "cri-dockerd": [("pass", "runtime.service_running", "")],
    "cri-dockerd-dead": [("fail", "runtime.service_running", ""), ("pass", "runtime.nvidia_handler", "")],
    "openshift-4.20": [("pass", "driver.owner", ""), ("pass", "runtime.nvidia_handler", "")],
    "openshift-4.20-driver-failed": [("fail", "driver.loaded", ""), ("skip", "gpu.bound", "0000:1b:00.0")],
    "a100-pcie-bridges": [("skip", "topology.gpu_acs", "")],
    "a6000-pair-of-intel": [("warn", "topology.gpu_acs", "")],
    "a6000-pair-passed-through": [("pass", "topology.gpu_acs", "")],
    "a6000-pair-translated": [("fail", "topology.gpu_acs", "")],
    "batch-mig": [("pass", "gpu.mig_instances", "0000:1b:00.0")],
    "batch-mig-about-to-be-made": [("skip", "gpu.mig_instances", "0000:1b:00.0")],
    "batch-mig-seen-by-the-driver-alone": [("pass", "gpu.mig_instances", "0000:1b:00.0")],
    "batch-mig-slices-gone": [("fail", "gpu.mig_instances", "0000:1b:00.0")],
    "bottlerocket-mounts": [("pass", "host.volumes", "")],
    "cdi-etc-wins": [("fail", "cdi.driver_version", "")],
    "cdi-run-wins": [("warn", "cdi.driver_version", "")],
    "containerd-alone": [("skip", "runtime.cri_enabled", "containerd")],
    "containerd-other-path": [("fail", "runtime.handler_binary", "containerd")],
    "containerd-own-path": [("pass", "runtime.handler_binary", "containerd")],
    "containerd-recovered": [("pass", "host.service_restarts", "")],
    "containerd-restarts": [("fail", "host.service_restarts", "containerd")],
    "docker-enforcing": [("skip", "runtime.selinux", "")],
    "docker-enforcing-labels": [("fail", "runtime.selinux", "")],
    "docker-with-kubelet-package": [("skip", "kubelet.running", "")],
    "flatcar-mounts": [("pass", "host.volumes", "")],
    "g5-remapped-twice": [("warn", "gpu.xid", "0000:1b:00.0")],
    "gb200-imex-alone": [("fail", "nvswitch.imex_log", "")],
    "gb200-imex-ended": [("fail", "nvswitch.imex_enabled", "")],
    "gb200-imex-for-pods": [("pass", "nvswitch.imex_twice", "")],
    "gb200-imex-in-pods": [("skip", "nvswitch.imex_enabled", "")],
    "gb200-imex-twice": [("fail", "nvswitch.imex_twice", "")],
    "gb200-wants-a-reset": [("fail", "gpu.driver_words", "")],
    "geforce-pair": [("skip", "topology.gpu_acs", "")],
    "guest-without-window": [("fail", "driver.loaded", "")],
    "hgx-a100-task-hangs-in-driver": [("warn", "driver.module_words", "")],
    "hgx-b200-bridges-without-driver": [("fail", "nvswitch.nvlsm_modules", "")],
    "hgx-b200-corrected": [("warn", "gpu.xid", "0000:52:00.0")],
    "hgx-b200-link-fatal": [("fail", "gpu.xid", "0000:52:00.0")],
    "hgx-b200-memory-uncorrected": [("warn", "host.memory_words", "")],
    "hgx-b200-nonfatal": [("warn", "gpu.xid", "0000:52:00.0")],
    "hgx-b200-nonfatal-storm": [("fail", "gpu.xid", "0000:52:00.0")],
    "hgx-b200-nonfatal-then-reset": [("fail", "gpu.xid", "0000:52:00.0")],
    "hgx-h100-busy-log": [("pass", "gpu.driver_words", "")],
    "hgx-h100-edac": [("pass", "host.memory_errors", "")],
    "hgx-h100-edac-uncorrected": [("fail", "host.memory_errors", "")],
    "hgx-h100-gpu-cut-off": [("fail", "gpu.pci_words", "0000:61:00.0")],
    "hgx-h100-gpu-without-answer": [("fail", "gpu.answers", "0000:52:00.0")],
    "hgx-h100-link-corrected": [("warn", "gpu.xid", "0000:1b:00.0")],
    "hgx-h100-manager-restarted": [("fail", "nvswitch.manager_restarted", "")],
    "hgx-h100-nic-hangs": [("fail", "rdma.nic_words", "mlx5_2:1")],
    "hgx-h100-partition": [("pass", "nvswitch.fabric_mode", "")],
    "hgx-h100-plugin-gone": [("fail", "kubelet.plugin_gone", "")],
    "hgx-h100-plugin-starting": [("skip", "kubelet.plugin_gone", "")],
    "hgx-h100-roce-class-of-driver": [("fail", "nccl.gpu_traffic_class", "")],
    "hgx-h100-shared-mode": [("fail", "nvswitch.fabric_mode", "")],
    "k3s-data-dir": [("pass", "runtime.nvidia_handler", "")],
    "k3s-dead": [("fail", "runtime.service_running", "k3s")],
    "kubelet-dead": [("fail", "kubelet.running", "")],
    "eks-al2023-kubelet-dead": [("fail", "kubelet.running", "")],
    "talos-kubelet-dead": [("fail", "kubelet.running", "")],
    "kubelet-first-minute": [("skip", "kubelet.running", "")],
    "kubelet-lost-its-file": [("fail", "kubelet.config_accepted", "")],
    "kubelet-restarts": [("fail", "host.service_restarts", "")],
    "l40s-below-4-gib": [("fail", "gpu.init_failed", "0000:1b:00.0")],
    "l40s-root-ports": [("warn", "topology.gpu_acs", "")],
    "l40s-switches": [("pass", "topology.gpu_acs", "")],
    "l40s-switches-redirect": [("fail", "topology.gpu_acs", "")],
    "nova-has-the-gpu": [("fail", "kernel.nouveau_loaded", "")],
    "rhel9-hmm-without-range": [("fail", "driver.module_words", "")],
    "slurm-gres-attested": [("pass", "gpu.confidential_ready", "")],
    "slurm-gres-driver-left-a-gpu": [("fail", "gpu.answers", "0000:61:00.0")],
    "slurm-gres-gpu-drained": [("fail", "gpu.drained", "0000:61:00.0")],
    "slurm-gres-job-in-a-container": [("pass", "gpu.leftover_memory", "0000:1b:00.0")],
    "slurm-gres-leftover-memory": [("warn", "gpu.leftover_memory", "0000:43:00.0")],
    "slurm-gres-not-attested": [("fail", "gpu.confidential_ready", "")],
    "slurm-limits": [("pass", "host.limits", "")],
    "slurm-limits-used-up": [("fail", "host.limits", "")],
    "t4-below-4-gib": [("pass", "gpu.init_failed", "")],
    "vgpu-guest": [("pass", "gpu.vgpu_license", "0000:02:00.0")],
    "vgpu-guest-unlicensed": [("fail", "gpu.vgpu_license", "0000:02:00.0")],
    "volume-of-images": [("pass", "host.volumes", "")],
    "volume-of-images-full": [("fail", "host.volumes", "")],
    "volume-of-images-pressure": [("fail", "host.disk_pressure", "")],
    "volume-of-images-read-only": [("fail", "host.volumes", "")],
    "volume-of-images-shut-down": [("fail", "host.volumes", "")],
    "volume-of-images-unmounted": [("fail", "host.volumes", "")],
}
AGAIN = "run 'make hosts' (root, gcc), read the difference of each expect.yaml, then run 'make docs'"
CAN_BUILD = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("gcc"), reason="device nodes need root, the stub of NVML gcc")


def set_ours(patch):
    for variable, value in OURS_ALONE.items():
        patch.setenv(variable, value)


def test_what_is_set_in_our_own_environment_changes_no_judgement_of_a_recorded_host(monkeypatch):
    before = {name: report_of(name).findings for name in PAIRED}
    set_ours(monkeypatch)
    for name in PAIRED:
        assert judged(ReplayBackend(tape_of(name)), profile_of(name)).findings == before[name], name


def test_the_paired_hosts_have_all_that_some_host_has_in_its_report():
    assert pairs(NAMES) - pairs(PAIRED) == set()


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_host_is_judged_as_expected(name):
    claims = {key: value for key, value in expectation_of(name).items() if key in ("first", "never")}
    assert {**snapshot.expectation(report_of(name)), **claims} == expectation_of(name), AGAIN


@over("name", NAMES)
def test_an_expectation_repeats_what_its_tree_claims(name):
    """A person says in the tree what comes first: the file shows it, and no recording can change it."""
    claim = claimed(name)
    assert (expectation_of(name).get("first", ""), tuple(expectation_of(name).get("never", ()))) == (claim.first, claim.never), AGAIN
    is_ready = (expectation_of(name)["single_node"], expectation_of(name)["multi_node"]) == ("ready", "ready")
    assert is_ready == (not claim.first), "a host that is not ready claims its first cause in its tree, by @claims, and no other does"
    assert claim.twin in ("", *NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if claimed(name).first])
def test_the_right_cause_comes_first(name):
    assert expectation_of(name)["first"] in first_cause(report_of(name))


@over("name", [name for name in NAMES if claimed(name).never])
def test_no_remedy_says_what_the_owner_of_the_host_must_not_do(name):
    findings = report_of(name).findings
    assert [(one.id, word) for one in findings for word in expectation_of(name)["never"] if holds(told(one.remedy), word)] == []


@over("name", [name for name in NAMES if claimed(name).never])
def test_no_check_of_a_part_of_somebody_else_s_could_say_it_there(name):
    """Each check's own remedy, as it is told of a part that the host's administrator does not change."""
    platform = collect(Source(ReplayBackend(tape_of(name))), ["Platform"])[0].of(Platform)
    owned = [(one, platform.part(one.part)) for one in load([OURS]) if one.part]
    said = []
    for one, part in owned:
        own = told(one.remedy) if repairs_itself(platform.name, part.owner) else ""
        if part.owner != "host":
            said.append((one.id, " ".join((*owners_way(platform.name, part.owner, one.part), own))))
    assert [(check, word) for check, text in said for word in expectation_of(name)["never"] if holds(text, word)] == []


@each_host
def test_the_command_line_ends_as_the_recorded_verdict_says(name):
    """As a person runs it on a laptop, once for each scope."""
    wanted = {scope: 0 if expectation_of(name)[f"{scope}_node"] in PLACEABLE else 1 for scope in ("single", "multi")}
    options = ["check", "--from", str(HOSTS / name), "--profile", expectation_of(name)["profile"], "--format", "json"]
    found = {scope: CliRunner().invoke(LazyGroup(), [*options, "--scope", scope], standalone_mode=False).return_value for scope in wanted}
    assert found == wanted


@over("name", sorted(set(NAMES) & set(RECIPES)))
def test_only_the_recording_of_a_real_machine_may_lack_an_answer(name):
    assert "not_recorded" not in expectation_of(name), AGAIN


def test_a_check_that_asks_what_a_tape_does_not_know_is_expected_as_not_recorded():
    """As a later version sees an old recording, which nobody edits: what is lost is its answer, not the tape's word for it."""
    recorded = tape_of("no-gpu-vm")
    before = snapshot.expectation(judged(ReplayBackend(recorded), profile_of("no-gpu-vm")))
    lacks = replace(recorded, answers={question: answer for question, answer in recorded.answers.items() if question != "adjtimex"})
    after = snapshot.expectation(judged(ReplayBackend(lacks), profile_of("no-gpu-vm")))
    assert _more(after, before, "not_recorded") == ["host.clock_synchronised"]
    assert after["unknown"] == before["unknown"]
    denied = replace(recorded, answers={**recorded.answers, "adjtimex": recording.encode(Unread("denied", "adjtimex"))})
    told = snapshot.expectation(judged(ReplayBackend(denied), profile_of("no-gpu-vm")))
    assert _more(told, before, "unknown") == ["host.clock_synchronised"]
    assert told.get("not_recorded") == before.get("not_recorded")


def _more(after, before, outcome):
    """The recording may lack other answers by now."""
    return sorted(set(after.get(outcome, ())) - set(before.get(outcome, ())))


def test_a_check_that_is_unknown_for_another_reason_too_is_not_put_down_to_the_recording():
    recorded, loaded = tape_of("hgx-h100-gpu-off-the-bus"), profile_of("hgx-h100-gpu-off-the-bus")
    lacks = {key: answer for key, answer in recorded.answers.items() if key != "nvml device 0 row_remap"}
    expected = snapshot.expectation(judged(ReplayBackend(replace(recorded, answers=lacks)), loaded))
    assert "gpu.row_remap" in expected["unknown"]
    assert "gpu.row_remap" not in expected.get("not_recorded", ())


def test_every_recorded_host_says_what_it_stands_for():
    assert set(NAMES) == set(MADE_FOR)


@over("name", NAMES)
def test_a_host_shows_the_defect_that_it_was_made_for(name):
    found = {(one.outcome, one.id, one.subject) for one in report_of(name).findings}
    assert set(MADE_FOR[name]) <= found, sorted(row for row in found if row[0] in ("fail", "warn", "unknown"))


def test_the_healthy_host_is_ready_and_nothing_on_it_is_skipped_for_want_of_evidence():
    report = report_of("hgx-h100-ubuntu2404")
    said = {(one.id, one.severity) for one in report.findings if one.outcome in ("fail", "warn", "unknown")}
    assert said == {("kubelet.cpu_manager", "info")}, "most kubelets give no container CPUs of its own"
    assert (report.verdict.single_node, report.verdict.multi_node) == ("ready", "ready")
    assert sum(one.outcome == "pass" for one in report.findings) > 3 * sum(one.outcome == "skip" for one in report.findings)


def test_a_node_of_a_rack_has_the_imex_that_a_profile_may_ask_for():
    asked = profile.load(site_file="", overlay={"imex": {"required": True}})
    report = judged(ReplayBackend(tape_of("gb200-nvl")), asked)
    imex = {one.id: one.outcome for one in report.findings if one.id.startswith("nvswitch.imex")}
    elsewhere = (
        "nvswitch.imex_enabled",
        "nvswitch.imex_log",
        "nvswitch.imex_twice",
    )  # by the profile, without a log, without the DRA driver
    assert {key: imex.pop(key) for key in elsewhere} == dict.fromkeys(elsewhere, "skip")
    assert set(imex.values()) == {"pass"}, imex


@over("name", sorted(set(NAMES) & set(RECIPES)))
def test_a_tape_answers_every_question_and_holds_no_other(name):
    """Redaction must not touch what this program itself asks for; a new question of a collector wants a new recording."""
    asked = Asked(tape_of(name))
    collect(Source(asked), ALL_READERS)
    lacks, holds_beside = set(asked.questions) - set(tape_of(name).answers), set(tape_of(name).answers) - set(asked.questions)
    assert (lacks, holds_beside) == (set(), set()), AGAIN


@pytest.mark.parametrize("name", NAMES)
def test_a_tape_is_small(name):
    assert (HOSTS / name / "tape.json").stat().st_size < 400 * 1024


@CAN_BUILD
@pytest.mark.alone
@pytest.mark.parametrize("name", sorted(name for name in RECIPES if not claimed(name).twin))
def test_a_live_host_and_its_tape_are_judged_alike_and_the_recording_is_what_its_tree_answers_today(name, tmp_path):
    assert_recorded(name, tmp_path / "root")


@CAN_BUILD
@pytest.mark.alone
@pytest.mark.parametrize("name", sorted(name for name in RECIPES if claimed(name).twin))
def test_a_live_twin_and_its_tape_are_judged_alike_and_the_recording_is_what_its_tree_answers_today(name, tmp_path):
    """Apart from the others: the gate leaves these out on the oldest Python."""
    assert_recorded(name, tmp_path / "root")


def assert_recorded(name, root):
    """The tree is built once: one pass is judged, another one makes both tapes."""
    loaded = profile.load(RECIPES[name].profile, site_file="")
    with stage(RECIPES[name].build(root), RECIPES[name].kind) as backend, pytest.MonkeyPatch.context() as patch:
        set_ours(patch)
        live = judged(backend, loaded)
        raw, redacted = recordings(backend)
    taped = judged(ReplayBackend(raw), loaded)
    assert live.findings == taped.findings
    assert live.verdict == taped.verdict
    fresh, kept = redacted.answers, tape_of(name).answers
    assert sorted(question for question in {**fresh, **kept} if fresh.get(question) != kept.get(question)) == [], AGAIN


class Collected:
    """A pass that has been made: `snapshot.record` makes a tape of it, and may make another one."""

    def __init__(self, reading):
        self._collected = reading.collect()
        self.answers = reading.answers

    def collect(self):
        return self._collected


def recordings(backend):
    """The raw and the redacted tape of one pass."""
    reading = Collected(InProcess(backend, ALL_READERS))
    return snapshot.record(reading, b"", redact=False), snapshot.record(reading, KEY)


class Asked(ReplayBackend):
    """A replay that notes what it is asked, and of which one answer may be lost."""

    def __init__(self, recorded, lost=""):
        super().__init__(recorded)
        self.questions = []
        self._lost = lost

    def ask(self, method, *arguments):
        question = recording.question(method, *arguments)
        self.questions.append(question)
        if question == self._lost:
            return Unread("denied", "refused by the test")
        return super().ask(method, *arguments)


class Reading:
    """The facts of a tape, and of each fact the questions and the other facts that it is made of.

    So a lost answer costs the facts that need it and the checks that need those, not a whole collection.
    """

    def __init__(self, recorded):
        self._recorded = recorded
        self.values, self.questions, self.made_of = {}, {}, {}
        for kind in READERS:
            self._known(kind)
        self._shown = {kind: repr(value) for kind, value in self.values.items()}

    def _known(self, kind):
        if kind not in self.values:
            self.values[kind] = Unread("error", "read from itself")
            backend = Asked(self._recorded)
            self.values[kind], self.made_of[kind] = read_fact(kind, backend, self._known)
            self.questions[kind] = frozenset(backend.questions)
        return self.values[kind]

    def without(self, question):
        """The facts that change when one answer is lost."""
        changed = {}

        def known(kind):
            if kind in changed or not self.needs(kind, question):
                return changed.get(kind, self.values[kind])
            changed[kind] = Unread("error", "read from itself")
            changed[kind], _ = read_fact(kind, Asked(self._recorded, question), known)
            return changed[kind]

        for kind in READERS:
            known(kind)
        # facts hold Unread, which answers == with an exception
        return {kind: value for kind, value in changed.items() if repr(value) != self._shown[kind]}

    def needs(self, kind, question):
        return question in self.questions[kind] or any(self.needs(part, question) for part in self.made_of[kind])


def read_fact(kind, backend, known):
    """A fact over a backend, and the facts that it is made of."""
    parts = set()

    def noted(part):
        parts.add(part.__name__)
        return known(part.__name__)

    try:
        value = READERS[kind].load()(Source(backend), noted)
    except UnreadError as error:
        value = error.unread
    return value, parts


@pytest.mark.parametrize("name", NAMES)
def test_no_lost_answer_makes_a_host_look_better(name):
    """Law 1 over a whole host: each answer refused in turn either changes nothing or is seen, and what was judged is then unknown.

    Not by "error": a specification that is a directory is of no use to its runtime either, so others skip what one check then fails.
    """
    host = Judged(name)
    assert [line for question in _tried(host, name) for line in host.problems(question)] == []


def test_the_walk_loses_each_answer_that_is_recorded_somewhere():
    """Whatever it leaves out, it loses on some host."""
    recorded = {_kind(question, answer) for name in NAMES for question, answer in tape_of(name).answers.items()}
    assert recorded == {kind for kinds in _shares().values() for kind in kinds}


_NUMBERS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|[0-9]+")
#: Devices that answer alike, of which a lost answer is tried; and hosts that have the same answer.
_ALIKE = 2
_HOSTS_ALIKE = 3
#: Of what the findings of a twin may be made of, and what its twin answers alike: one in so many.
_ONE_OF = 4


def _tried(host, name):
    """The answers that are lost in turn, all of them with ATTACK=1.

    Of questions that differ in a device's address or number alone, and have the same answer, two. What many hosts answer alike is lost
    on three of them; on a twin that answers it like its twin only what its findings may be made of, and of that a part.
    """
    answers, seen = host.recorded.answers, collections.Counter()
    for question in sorted(answers):
        kind = _kind(question, answers[question])
        seen[kind] += 1
        told = kind in _shares()[name] or (_is_drawn(name, kind) and _is_twins(name, question) and host.tells(question))
        if (told and seen[kind] <= _ALIKE) or os.environ.get("ATTACK"):
            yield question


def _kind(question, answer):
    """What answers of devices that are alike have in common."""
    return _NUMBERS.sub("#", question), json.dumps(answer, sort_keys=True, default=str)


def _is_twins(name, question):
    """Whether its twin has the same answer to this."""
    twin = claimed(name).twin
    return bool(twin) and tape_of(name).answers[question] == tape_of(twin).answers.get(question)


def _is_drawn(name, kind):
    return zlib.crc32(f"{name} {kind}".encode(errors="surrogatepass")) % _ONE_OF == 0


@functools.cache
def _shares():
    """By host the kinds of answers that are lost there: of the hosts where a kind is not a twin's, three, the same ones every time."""
    having = collections.defaultdict(set)
    for name in NAMES:
        for question, answer in tape_of(name).answers.items():
            if not _is_twins(name, question):
                having[_kind(question, answer)].add(name)
    shares = {name: set() for name in NAMES}
    for kind, names in having.items():
        by_draw = sorted(names, key=lambda name: zlib.crc32(f"{name} {kind}".encode(errors="surrogatepass")))
        for name in by_draw[:_HOSTS_ALIKE]:
            shares[name].add(kind)
    return shares


class Judged:
    """A recorded host with all its judgements, and what is wrong with them when one answer is lost."""

    def __init__(self, name):
        self.recorded, self._profile = tape_of(name), profile_of(name).profile
        self._checks = {one.id: one for one in load(self._profile.catalogues)}
        self._reading = Reading(self.recorded)
        self._inputs = {one.id: {kind.__name__ for kind in one.inputs.kinds} for one in self._checks.values()}
        self._before = self._judge(self._reading.values, self._checks)
        self._subjects = {_of(one) for one in _flat(self._before)}
        wrong = {one.id for one in _flat(self._before) if one.outcome in ("fail", "warn", "unknown")}
        self._told = set().union(*(self._inputs[key] for key in wrong))
        self._named = {(one.id, one.subject, one.unread) for one in _flat(self._before)}
        self._was = _placeable(proved(self._checks.values(), self._before))

    def tells(self, question):
        """May a finding be made of this answer?"""
        return any(self._reading.needs(kind, question) for kind in self._told)

    def _judge(self, facts, ids):
        host = HostFacts(facts)
        return {key: evaluate([self._checks[key]], host, self._profile) for key in ids}

    def problems(self, question):
        changed = self._reading.without(question)
        after = self._judge({**self._reading.values, **changed}, [key for key in self._checks if self._inputs[key] & set(changed)])
        before = {key: self._before[key] for key in after}
        gained, lost = _minus(after, before), _minus(before, after)
        if not gained and not lost:
            return
        # A device whose class is lost may be a GPU for all one knows: a new subject, to which some checks apply that did not
        # before. That it is there has to be seen: see the last lines.
        has_new = bool({subject for _, _, subject in gained} - self._subjects)
        for outcome, key, subject in sorted(gained):
            before = {one.outcome for one in self._before[key] if _of(one) == subject}
            if subject not in self._subjects or (has_new and before == {"skip"}):
                continue
            if outcome == "pass" or (outcome == "skip" and before & {"pass", "fail", "warn", "unknown"}):
                yield f"without '{question}': {key} {subject[1]} is {outcome}, was {', '.join(sorted(before)) or 'not judged'}"
        yield from self._unnamed(question, after)
        was, now = self._was, _placeable(proved(self._checks.values(), {**self._before, **after}))
        yield from (f"without '{question}': {scope} is {now[scope]}, was {was[scope]}" for scope in was if now[scope] > was[scope])
        seen = any(outcome in ("fail", "warn", "unknown") for outcome, _, _ in gained)
        if not seen and any(outcome != "skip" for outcome, _, _ in {*lost, *gained}):
            yield f"without '{question}': not seen, though it changes {', '.join(sorted({key for _, key, _ in {*lost, *gained}}))}"

    def _unnamed(self, lost, after):
        """Each unknown that appears names the lost question, or another without an answer: the host itself refuses it, or nobody asked it
        before, because only the lost answer makes it worth asking. Of what may be a device for all one knows a check may say less.
        """
        for one in _flat(after):
            is_new = one.outcome == "unknown" and _of(one) in self._subjects and (one.id, one.subject, one.unread) not in self._named
            answer = self.recorded.answers.get(one.unread, {"unread": "not asked"})
            if is_new and one.unread != lost and (not one.unread or "unread" not in answer):
                yield f"without '{lost}': {one.id} {one.subject} is unknown and names '{one.unread}'"


def _flat(judgements):
    return tuple(one for rows in judgements.values() for one in rows)


def _of(one):
    """Its subject: an address may be that of a NIC, and for all one knows that of a GPU."""
    return one.subject_kind, one.subject


def _minus(left, right):
    rows = ({(one.outcome, one.id, _of(one)) for one in _flat(judgements)} for judgements in (left, right))
    return set.difference(*rows)


def _placeable(judgements):
    """By scope: 2 ready, 1 degraded, 0 not to be placed. That a bad host becomes an unknown one is no improvement."""
    found = verdicts(judgements)
    rank = {"ready": 2, "degraded": 1}
    return {"single-node": rank.get(found.single_node, 0), "multi-node": rank.get(found.multi_node, 0)}
