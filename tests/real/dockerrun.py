"""A real dockerd and its real client, in namespaces of their own: no process, socket or file of this machine is seen by them, nor touched."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.real.conftest import need_real

HOW = "tests/real/install_containerd.sh"
_READY_S = 60.0
#: What dockerd starts.
_NEEDED = ("containerd-1.7/containerd", "containerd-1.6/containerd-shim-runc-v2", "runc-1.1/runc")
#: Nothing of the network is set up: no bridge, no rule, no forwarding.
_FLAGS = ("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--storage-driver=vfs")
_BOOT = "mount -t tmpfs -o mode=755 tmpfs /run && echo up && exec sleep 1000000"


def client() -> str:
    """The program ``docker`` that is of dockerd's release, where all that dockerd needs is there too."""
    for program in (*_NEEDED, "docker-26/dockerd"):
        need_real(program, HOW)
    return need_real("docker-26/docker", HOW)


class Machine:
    """Its /run is empty at first, its processes are those that it was told to start."""

    def __init__(self, place: Path, first: int) -> None:
        self._place = place
        self._enter = ("nsenter", f"--target={first}", "--mount", "--pid", "--net", "--")
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def run(self, *argv: str, environment: "Mapping[str, str] | None" = None) -> "subprocess.CompletedProcess[str]":
        known = {"PATH": os.environ["PATH"], "HOME": str(self._place)} if environment is None else environment
        given = (f"{name}={value}" for name, value in known.items())
        return subprocess.run([*self._enter, "env", "-i", *given, *argv], capture_output=True, text=True, timeout=120, check=False)

    def config(self, name: str = "docker") -> Path:
        return self._place / f"{name}.json"

    def start(self, text: str, name: str = "docker") -> None:
        """dockerd over that daemon.json, until it answers: the first is at the usual socket, others at one of their name."""
        path = self.config(name)
        path.write_text(text, encoding="utf-8")
        hour_ago = time.time() - 3600
        os.utime(path, (hour_ago, hour_ago))  # before any daemon that reads it, however coarse its start is told
        files = {"config-file": path, "data-root": self._place / name, "exec-root": f"/run/{name}", "pidfile": f"/run/{name}.pid"}
        argv = [need_real("docker-26/dockerd", HOW), *(f"--{key}={value}" for key, value in files.items()), *_FLAGS]
        argv += ["--userland-proxy-path=/bin/true", f"--host=unix:///run/{name}.sock"]
        search = ":".join(os.path.dirname(need_real(program, HOW)) for program in _NEEDED)
        with (self._place / f"{name}.log").open("wb") as log:
            starts = [*self._enter, "env", "-i", f"PATH={search}", *argv]
            self._daemons[name] = subprocess.Popen(starts, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        ends = time.monotonic() + _READY_S
        while not self.runtimes(name):
            assert self._daemons[name].poll() is None, self.said(name)
            assert time.monotonic() < ends, self.said(name)
            time.sleep(0.1)

    def said(self, name: str = "docker") -> str:
        """The end of what dockerd logged."""
        return (self._place / f"{name}.log").read_text(encoding="utf-8")[-3000:]

    def runtimes(self, name: str = "docker") -> dict[str, object]:
        """What the client lists; {} where it reaches no daemon."""
        environment = {"DOCKER_HOST": f"unix:///run/{name}.sock", "HOME": str(self._place)}
        done = self.run(client(), "info", "--format", "{{json .Runtimes}}", environment=environment)
        return dict(json.loads(done.stdout or "null") or {})

    def tell(self, signal: str, name: str = "docker") -> None:
        done = self.run("sh", "-c", f'kill -{signal} "$(cat /run/{name}.pid)"')
        assert done.returncode == 0, done.stderr

    def stop(self, name: str = "docker") -> None:
        self.tell("TERM", name)
        self._daemons.pop(name).wait(_READY_S)

    def close(self) -> None:
        """Of a machine that has gone."""
        for one in self._daemons.values():
            one.wait(_READY_S)


@contextmanager
def machine(place: Path) -> Iterator[Machine]:
    """Gone afterwards, with all that runs in it and all that it mounted. `place`: where its daemons have their data."""
    argv = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "unshare",
        "--mount",
        "--pid",
        "--net",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-ec",
        _BOOT,
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as holder:
        said = holder.stdout.readline() if holder.stdout else ""
        assert said == "up\n", said
        first = psutil.Process(holder.pid).children()[0]
        made = Machine(place, first.pid)
        try:
            yield made
        finally:
            first.kill()
            made.close()
