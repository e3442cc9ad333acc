"""The parts of container runtimes' configurations that are kept: kinds and names of `hostagent.snapshot.keeping`.

Of containerd's plug-ins every value is compared by type and with the drop-ins; the value itself is not needed.
"""

from hostagent.core.retention import Keep
from hostagent.domains.runtime.tables.versions import CONTAINERD as _RULES
from hostagent.domains.runtime.tables.versions import schema

_CRI = (
    *("systemd_cgroup#", "enable_cdi#", "cdi_spec_dirs[]"),
    *(f"containerd/{one}" for one in ("default_runtime_name", "default_runtime/runtime_type", "untrusted_workload_runtime/runtime_type")),
    *(
        f"containerd/{table}/{key}"
        for table in ("runtimes/*", "default_runtime", "untrusted_workload_runtime")
        for key in ("runtime_type", "runtime_path", "options/BinaryName", "options/SystemdCgroup#")
    ),
)
_CONTAINERD = (
    *("version#", "imports[]", "disabled_plugins[]", "required_plugins[]", "grpc/address"),
    *sorted(f"{key}~" for key in schema(_RULES[-1]).top),
    "plugins/*/address",
    *("plugins/*~", *(f"plugins/*/{path}" for path in _CRI)),
)
_CRIO = (
    *(f"crio/runtime/{key}" for key in ("default_runtime", "cgroup_manager", "cdi_spec_dirs[]")),
    *(f"crio/runtime/runtimes/*/{key}" for key in ("runtime_path", "runtime_type")),
    "crio/api/listen",
)
#: One list: a file in a wrong directory may be meant for either.
TOML = Keep("toml", (*_CONTAINERD, *_CRIO))
CRIO = Keep("toml", (*TOML.names, "crio/runtime/hooks_dir[]"))
#: Of such a file only whether it is about NVIDIA.
UNIMPORTED = Keep("toml", tuple(name for name in TOML.names if name.startswith(("plugins/", "crio/runtime/runtimes/"))))
DOCKER = Keep(
    "json",
    (
        *("default-runtime", "runtimes/*/path", "runtimes/*/runtimeType", "features/cdi#", "features/*!", "cdi-spec-dirs[]"),
        *("exec-opts=native.cgroupdriver=", "hosts=unix://"),
    ),
)
