"""``hostagent setup`` before a real dockerd and its real client: what the host says itself, what the client says, and where they differ."""

import os
import sys
import time

import pytest

from tests.real.dockerrun import client, machine
from tests.setup_cases import DOCKER, READY, UNREACHABLE
from tests.setup_judge import CLEAN, programs

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="dockerd starts only as root")]
WITH = '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}}}'
WITHOUT = '{"log-driver": "json-file"}'
COUNTS = "the host counts"


@pytest.fixture
def host(tmp_path):
    """The tools that a machine without a GPU lacks are made; ``docker`` is the real one. Nothing else is on PATH."""
    folder = tmp_path / "bin"
    programs(folder, {name: said for name, said in READY.items() if name != "docker"})
    (folder / "docker").symlink_to(client())
    data = tmp_path / "data"
    data.mkdir()
    with machine(data) as made:
        yield made


def setup(host, tmp_path, *before, **environment):
    """The line of Docker, and what is told about it behind the script's lines."""
    argv = [*before, sys.executable, "-m", "hostagent", "setup", "--backend", "docker"]
    done = host.run(*argv, environment={**CLEAN, "PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), **environment})
    assert (done.stderr, "Traceback" in done.stdout) == ("", False)
    lines = done.stdout.splitlines()
    assert done.returncode == any(line.startswith("MISSING:") for line in lines), done.stdout
    return lines[3], [line for line in lines[4:] if "Docker: " in line]


def changed(host, text):
    """Its file, after it has read it."""
    path = host.config()
    path.write_text(text, encoding="utf-8")
    later = time.time() + 3600
    os.utime(path, (later, later))


def test_a_daemon_that_has_read_the_runtime_is_ready_and_one_without_it_is_not(host, tmp_path):
    host.start(WITH)
    assert "nvidia" in host.runtimes()
    assert setup(host, tmp_path) == (DOCKER, [])
    host.stop()
    host.start(WITHOUT)
    assert "nvidia" not in host.runtimes()
    assert setup(host, tmp_path) == (UNREACHABLE, [])


def test_a_daemon_that_is_stopped_is_unreachable_and_why_is_said(host, tmp_path):
    host.start(WITH)
    host.stop()
    line, (told,) = setup(host, tmp_path)
    assert line == UNREACHABLE
    assert told.startswith(f"WARN: Docker: docker ({tmp_path}/bin/docker) gave no answer: ")
    assert "Cannot connect to the Docker daemon" in told


def test_a_daemon_that_may_not_have_read_its_file_is_asked(host, tmp_path):
    host.start(WITHOUT)
    changed(host, WITH)
    assert setup(host, tmp_path) == (UNREACHABLE, [])
    host.tell("HUP")
    ends = time.monotonic() + 30
    while "nvidia" not in host.runtimes():
        assert time.monotonic() < ends, host.said()
    line, (told,) = setup(host, tmp_path)
    assert line == DOCKER
    assert told.startswith(f"INFO: Docker: the runtime nvidia is what docker ({tmp_path}/bin/docker) says")


def test_where_no_daemon_is_seen_its_client_is_asked(host, tmp_path):
    """As in a container, and in WSL, which have the socket of a daemon that runs elsewhere."""
    elsewhere = ("/usr/bin/unshare", "--pid", "--fork", "--mount-proc")
    host.start(WITH)
    line, (told,) = setup(host, tmp_path, *elsewhere)
    assert line == DOCKER
    assert told.startswith("INFO: Docker: the runtime nvidia is what docker ")
    host.start(WITHOUT, "other")
    assert setup(host, tmp_path, *elsewhere, DOCKER_HOST="unix:///run/other.sock") == (UNREACHABLE, [])


def test_where_host_and_client_differ_the_host_counts_and_it_is_said(host, tmp_path):
    host.start(WITH)
    host.start(WITHOUT, "other")
    line, (told,) = setup(host, tmp_path, DOCKER_HOST="unix:///run/other.sock")
    assert line == DOCKER
    assert told.startswith("WARN: Docker: found runtime nvidia in the configuration, docker ")
    assert told.endswith(f"says none; {COUNTS}")
    changed(host, WITHOUT)  # the daemon has it until it starts again
    line, (told,) = setup(host, tmp_path)
    assert line == UNREACHABLE
    assert told.startswith("WARN: Docker: found no runtime nvidia in the configuration, docker ")
    assert told.endswith(f"says one; {COUNTS}")
