"""A pod as a cluster starts it, by podman and runc: namespaces, capabilities, the usual system call filter, cgroups."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.real.conftest import need_real

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
#: What an ordinary pod of a node agent gets: the host's / where nothing can be written to.
HOST = ("-v", "/:/host:ro,rslave")


def enters() -> bool:
    """Whether root of this machine may open the network namespace of its process 1: where it may not, no pod enters it."""
    try:
        os.close(os.open("/proc/1/ns/net", os.O_RDONLY))
    except OSError:
        return False
    return True


def run(options: "tuple[str, ...]", *command: str) -> "subprocess.CompletedProcess[str]":
    """`command` in a pod whose own files are those of this machine, under an overlay that goes with it."""
    need_real("podman", "apt-get install podman runc")
    # The limits are those that a machine without CAP_SYS_RESOURCE may set too.
    limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000")
    argv = ("podman", "--runtime", "runc", "run", "--rm", "--network", "none", *limits, *options, "--rootfs", "/:O", *command)
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)


def answers(options: "tuple[str, ...]", out: Path, *arguments: str) -> "dict[str, Any]":
    """What ``snapshot save`` in such a pod was answered, by question."""
    saved = run(("-v", f"{out}:/out", *options), HOSTAGENT, "snapshot", "save", *arguments, "/out/tape.json")
    assert saved.returncode == 0, saved.stderr
    found: dict[str, Any] = json.loads((out / "tape.json").read_text())["answers"]
    return found


def denied(recorded: "dict[str, Any]") -> "set[str]":
    """The questions that were not answered for want of a right, or of what a pod is not given."""
    return {question for question, answer in recorded.items() if answer.get("unread") in ("denied", "error", "timeout")}
