"""The public face for people who write checks: what a profile is made of. Its readers are no part of it."""

from hostagent.profiles.install import InstallPolicy
from hostagent.profiles.profile import (
    CheckPolicy,
    ConfigzPolicy,
    CudaPolicy,
    DriverPolicy,
    GpuPolicy,
    ImexPolicy,
    KubeletPolicy,
    Owner,
    PodPolicy,
    Profile,
    ReportPolicy,
    RuntimePolicy,
    SlurmPolicy,
    ToolkitPolicy,
    TopologyPolicy,
)
from hostagent.profiles.rdma import RdmaPolicy

__all__ = [
    "CheckPolicy",
    "ConfigzPolicy",
    "CudaPolicy",
    "DriverPolicy",
    "GpuPolicy",
    "ImexPolicy",
    "InstallPolicy",
    "KubeletPolicy",
    "Owner",
    "PodPolicy",
    "Profile",
    "RdmaPolicy",
    "ReportPolicy",
    "RuntimePolicy",
    "SlurmPolicy",
    "ToolkitPolicy",
    "TopologyPolicy",
]
