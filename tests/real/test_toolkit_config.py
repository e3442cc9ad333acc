"""The toolkit's own nvidia-container-runtime judges our view of config.toml: it is told to create a container, with a runc that only says it was called.

The container asks for no GPU, so that what stops it is the configuration.
"""

import json
import os
import subprocess

import pytest

from hostagent.domains.runtime.read_toolkit import parse_config
from tests.real.conftest import need_real

HOW = "tests/real/install_nvidia_ctk.sh"
MODES = ("auto", "cdi", "csv", "jit-cdi", "legacy")
CONFIGURATIONS = [
    "",
    '[nvidia-container-cli]\nldconfig = "@/sbin/ldconfig.real"\n',
    '[nvidia-container-cli]\nldconfig = "/sbin/ldconfig.real"\n',
    '[nvidia-container-cli]\nldconfig = ""\n',
    '[nvidia-container-cli]\nldconfig = "/sbin/ldconfig"\n[features]\nallow-ldconfig-from-container = true\n',
    '[nvidia-container-cli]\nldconfig = "/sbin/ldconfig"\n[features]\nallow-ldconfig-from-container = false\n',
    '[nvidia-container-cli]\nno-cgroups = "x"\n',
    "[nvidia-container-cli]\nno-cgroups = true\n",
    '[nvidia-container-runtime]\nruntimes = ["docker-runc"]\n',
    '[nvidia-container-runtime]\nruntimes = ["docker-runc", "runc"]\n',
    "[nvidia-container-runtime]\nruntimes = []\n",
    '[nvidia-container-runtime]\nruntimes = "runc"\n',
    '[nvidia-container-runtime]\nruntimes = ["/nonexistent/runc"]\n',
    '[nvidia-container-runtime]\nmode = "x"\n',
    '[nvidia-container-runtime]\nmode = "cdi"\n',
    "x = [",
]
SPECIFICATION = {
    "ociVersion": "1.0.2",
    "process": {"args": ["sh"], "cwd": "/", "env": ["NVIDIA_VISIBLE_DEVICES=void"]},
    "root": {"path": "rootfs"},
    "linux": {},
}


def starts(text, directory):
    """Whether it comes as far as runc."""
    program = need_real("nvidia-ctk/nvidia-container-runtime", HOW)
    for name, content in (
        ("bin/runc", "#!/bin/sh\necho called\n"),
        ("nvidia-container-runtime/config.toml", text),
        ("bundle/config.json", json.dumps(SPECIFICATION)),
    ):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (directory / "bin/runc").chmod(0o755)
    environment = {"XDG_CONFIG_HOME": str(directory), "PATH": f"{directory}/bin"}
    argv = [program, "create", "--bundle", str(directory / "bundle"), "x"]
    return subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=30, check=False).stdout.startswith("called")


def ours(text, directory):
    try:
        found = parse_config(text.encode())
    except ValueError:
        return False
    ldconfig = found.ldconfig.startswith("@") or found.allows_any_ldconfig
    programs = [name for name in found.runtimes if os.path.exists(name if "/" in name else f"{directory}/bin/{name}")]
    return ldconfig and bool(programs) and found.mode in MODES


@pytest.mark.parametrize("text", CONFIGURATIONS)
def test_we_refuse_what_the_nvidia_runtime_refuses(text, tmp_path):
    assert starts(text, tmp_path) == ours(text, tmp_path)
