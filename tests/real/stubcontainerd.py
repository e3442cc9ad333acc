"""The container runtime of the roots: a package around the real containerd, with the configuration that its distribution's hosts have."""

import subprocess
from pathlib import Path

from tests.real.conftest import need_real
from tests.real.stubdebs import Deb, Program

HOW = "sudo bash tests/real/install.sh"
_VERSIONS = {"debian": ("containerd-1.6", "1.6.20~ds1-1+deb12u1"), "ubuntu": ("containerd-1.7", "1.7.24-0ubuntu1~24.04.2")}
#: Debian's own file, which its package ships.
_DEBIAN = """version = 2

[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    [plugins."io.containerd.grpc.v1.cri".cni]
      bin_dir = "/usr/lib/cni"
      conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.internal.v1.opt"]
    path = "/var/lib/containerd"
"""
_UNIT = """[Unit]
Description=containerd container runtime
After=network.target local-fs.target

[Service]
ExecStart=/usr/bin/containerd
Type=notify
Delegate=yes
KillMode=process

[Install]
WantedBy=multi-user.target
"""


def containerd(distribution: str) -> Deb:
    """Ubuntu's package has no configuration file: there it is what `containerd config default` says, with systemd's cgroups, as
    administrators of Kubernetes nodes write it.
    """
    place, version = _VERSIONS[distribution]
    program = Path(need_real(f"{place}/containerd", HOW))
    if distribution == "debian":
        configuration = _DEBIAN
    else:
        said = subprocess.run([program, "config", "default"], capture_output=True, text=True, check=True).stdout
        configuration = said.replace("SystemdCgroup = false", "SystemdCgroup = true")
    files: dict[str, bytes | str] = {
        "/usr/bin/containerd": Program(program.read_bytes()),
        "/usr/sbin/runc": Program(b"#!/bin/sh\nexit 0\n"),
        "/etc/containerd/config.toml": configuration.encode(),
        "/usr/lib/systemd/system/containerd.service": _UNIT.encode(),
    }
    return Deb("containerd", version, {}, files, {}, ("/etc/containerd/config.toml",))
