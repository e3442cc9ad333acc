"""The four packages of the NVIDIA Container Toolkit, with its real programs, units and scripts.

The texts are those of the Go module at the version that ``go/nvidia-ctk`` pins, 1.19.0. Other versions are made of them: nvidia-ctk says
their version; 1.18.2 and 1.19.1 have the restart logic and not the ``After=`` that 1.19.0 alone has.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.real.conftest import CACHE
from tests.real.stubdebs import Deb, Program
from tests.real.stubparts import LIBRARIES
from tests.real.stubparts import library as made

VERSIONS = ("1.18.2", "1.19.0", "1.19.1", "1.20.0")
_MODULE = "github.com/NVIDIA/nvidia-container-toolkit"
_HOOK = Program(b"#!/bin/sh\nexit 0\n")
_PURGED = 'if [ "$1" = purge ]; then rm -f /usr/bin/nvidia-container-toolkit; fi'
_BREAKS = {"Breaks": "nvidia-container-runtime (<= 3.5.0-1), nvidia-container-runtime-hook"}


def toolkit() -> Iterator[Deb]:
    source = Path(
        subprocess.run(
            ["go", "list", "-m", "-f", "{{.Dir}}", _MODULE],
            cwd=Path(__file__).parent / "go/nvidia-ctk",
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    )
    for version in VERSIONS:
        yield from _packages(version, f"{version}-1", source)


def _packages(version: str, full: str, source: Path) -> Iterator[Deb]:
    programs = Path(CACHE, "nvidia-ctk")
    named = programs / (f"nvidia-ctk-{version}" if version != "1.19.0" else "nvidia-ctk")
    units = {
        name: (source / "deployments/systemd" / name).read_bytes()
        for name in (f"nvidia-cdi-refresh.{x}" for x in ("path", "service", "env"))
    }
    service = units["nvidia-cdi-refresh.service"]
    if version != "1.19.0":
        service = service.replace(b"After=multi-user.target\n", b"").replace(b"[Install]", b"Restart=on-failure\nRestartSec=5\n\n[Install]")
    runtime = Program((programs / "nvidia-container-runtime").read_bytes())
    configuration = {
        "/etc/systemd/system/nvidia-cdi-refresh.service": service,
        "/etc/systemd/system/nvidia-cdi-refresh.path": units["nvidia-cdi-refresh.path"],
        "/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env": units["nvidia-cdi-refresh.env"],
    }
    yield Deb(
        "nvidia-container-toolkit-base",
        full,
        {**_BREAKS, "Replaces": _BREAKS["Breaks"]},
        {
            "/usr/bin/nvidia-ctk": Program(named.read_bytes()),
            "/usr/bin/nvidia-container-runtime": runtime,
            "/usr/bin/nvidia-cdi-hook": Program((programs / "nvidia-cdi-hook").read_bytes()),
            **configuration,
        },
        {"postinst": _body(source / "packaging/debian/nvidia-container-toolkit-base.postinst")},
        tuple(configuration),
    )
    yield Deb(
        "nvidia-container-toolkit",
        full,
        {
            "Depends": f"nvidia-container-toolkit-base (= {full}), libnvidia-container-tools (= {full}), libnvidia-container-tools (<< 2.0.0)",
            **_BREAKS,
        },
        {"/usr/bin/nvidia-container-runtime-hook": _HOOK},
        {"postinst": _body(source / "packaging/debian/nvidia-container-toolkit.postinst"), "postrm": _PURGED},
    )
    yield Deb("libnvidia-container-tools", full, {"Depends": f"libnvidia-container1 (>= {full})"}, {"/usr/bin/nvidia-container-cli": _HOOK})
    library = {
        f"{LIBRARIES}/libnvidia-container.so.{version}": made("libnvidia-container.so.1"),
        f"{LIBRARIES}/libnvidia-container.so.1": f"libnvidia-container.so.{version}",
    }
    yield Deb("libnvidia-container1", full, {}, library)


def _body(script: Path) -> str:
    """A maintainer script without its first line and its own exit."""
    return script.read_text(encoding="utf-8").partition("set -e\n")[2].replace("#DEBHELPER#", "").replace("\nexit 0", "")
