"""Docker as Debian 12 has it: the names, units and scripts of its package; a daemon that does nothing, and a client that cannot reach it.

Debian's docker.io 20.10.24+dfsg1-1 (debian/docker.io.postinst makes the group, and leaves it), debhelper's dh_installsystemd.
"""

from collections.abc import Iterator
from pathlib import Path

from tests.real.stubdebs import Deb, Program

VERSION = "20.10.24+dfsg1-1+deb12u1+b2"
_SERVICE = b"""[Unit]
Description=Docker Application Container Engine
Documentation=https://docs.docker.com
After=network-online.target docker.socket firewalld.service containerd.service time-set.target
Wants=network-online.target containerd.service
Requires=docker.socket

[Service]
Type=notify
EnvironmentFile=-/etc/default/docker
ExecStart=/usr/sbin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock $DOCKER_OPTS
ExecReload=/bin/kill -s HUP $MAINPID
KillMode=process

[Install]
WantedBy=multi-user.target
"""
_SOCKET = b"""[Unit]
Description=Docker Socket for the API

[Socket]
ListenStream=/run/docker.sock
SocketMode=0660
SocketUser=root
SocketGroup=docker

[Install]
WantedBy=sockets.target
"""
_CLIENT = """#!/bin/sh
case $1 in
  --version) echo 'Docker version 20.10.24+dfsg1, build 297e128' ;;
  *) echo 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?' >&2; exit 1 ;;
esac
"""
_CONFIGURED = """if [ "$1" = configure ] && [ -z "$2" ]; then getent group docker >/dev/null || groupadd --system docker; fi
for unit in docker.service docker.socket; do
  deb-systemd-helper unmask "$unit" >/dev/null || true
  if deb-systemd-helper --quiet was-enabled "$unit"; then deb-systemd-helper enable "$unit" >/dev/null || true; fi
done
"""
_GONE = """if [ "$1" = purge ]; then deb-systemd-helper purge docker.service docker.socket >/dev/null || true; fi"""


def docker(base: Path) -> Iterator[Deb]:
    """`base`: a root of Debian's, whose `sleep` is the daemon."""
    daemon = Program((base / "usr/bin/sleep").read_bytes())
    files: dict[str, bytes | str] = {
        "/usr/sbin/dockerd": daemon,
        "/usr/bin/docker": Program(_CLIENT.encode()),
        "/usr/lib/systemd/system/docker.service": _SERVICE,
        "/usr/lib/systemd/system/docker.socket": _SOCKET,
        "/etc/default/docker": b"# DOCKER_OPTS=\n",
    }
    scripts = {"postinst": _CONFIGURED, "postrm": _GONE}
    needs = {"Depends": "containerd (>= 1.4~), init-system-helpers (>= 1.51)"}
    yield Deb("docker.io", VERSION, needs, files, scripts, ("/etc/default/docker",))
