"""A container that asks for the handler nvidia gets a device by CDI from a containerd with what a plan wrote, and one that does not gets none.

containerd 1.6, 1.7, 2.1 and 2.3 start on the files; a client of the Container Runtime Interface (tests/real/go/cri) runs the containers;
NVIDIA's own nvidia-container-runtime puts a made device node into them, as a specification says. The container's program, ours too, says
what it sees. No GPU is needed: only the driver behind the node would.
"""

import json
import os
import socket
import subprocess
import time
from contextlib import contextmanager

import pytest

from tests.real.conftest import CACHE, need_real
from tests.real.test_containerd import HOW, VERSIONS, program, version_of
from tests.runtime_plans import Host, planned, writes

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="containers are started by root"),
]
MAIN, PROGRAM = "/etc/containerd/config.toml", "/usr/bin/nvidia-container-runtime"
SPEC = """\
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: all
  containerEdits:
    env: [MADE_BY_CDI=yes]
    deviceNodes:
    - {{path: /dev/nvidia0, hostPath: {folder}/nvidia0}}
"""
TOOLKIT = """\
[nvidia-container-runtime]
log-level = "info"
mode = "cdi"
runtimes = ["runc"]
[nvidia-container-runtime.modes.cdi]
default-kind = "nvidia.com/gpu"
spec-dirs = ["{folder}/cdi"]
"""
#: As a host has it: 1.7's has no runtimes, so that the built-in one has to come through.
CONFIGS = {
    "1.6": """\
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{image}" # a mirror
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
""",
    "1.7": """\
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{image}"
  restrict_oom_score_adj = true
""",
    "2": """\
version = 3
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{image}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
""",
    "2, a file of 1.x": """\
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{image}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
""",
}
CASES = [(line, line if line in CONFIGS else "2") for line in VERSIONS] + [("2.1", "2, a file of 1.x")]


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """A registry on this machine's loopback that has one image, with the client itself as its program."""
    client, folder = need_real("cri/cri", HOW), tmp_path_factory.mktemp("image")
    subprocess.run([client, "image", str(folder), client], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([client, "serve", str(folder), str(port)])
    yield f"127.0.0.1:{port}/judge:1"
    server.kill()
    server.wait()


@pytest.fixture
def folder(tmp_path):
    """What a host with the toolkit has: a device node, a specification that names it, the runtime's own configuration."""
    for name in ("cdi", "xdg/nvidia-container-runtime", "etc"):
        (tmp_path / name).mkdir(parents=True)
    os.mknod(tmp_path / "nvidia0", 0o666 | 0o020000, os.makedev(195, 0))
    (tmp_path / "cdi" / "nvidia.yaml").write_text(SPEC.format(folder=tmp_path))
    (tmp_path / "xdg/nvidia-container-runtime/config.toml").write_text(TOOLKIT.format(folder=tmp_path))
    return tmp_path


def placed(text, folder):
    """As it is on a host, with this test's paths in place of the host's."""
    runtime = need_real("nvidia-ctk/nvidia-container-runtime", "tests/real/install_nvidia_ctk.sh")
    return text.replace("/etc/containerd", str(folder / "etc")).replace(PROGRAM, runtime)


@contextmanager
def started(line, folder, files):
    """containerd on these files of /etc/containerd; its own processes and mounts go with it."""
    for name, text in files.items():
        path = folder / "etc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(placed(text, folder))
    main = folder / "etc/config.toml"
    text = main.read_text()
    top = f'root = "{folder}/root"\nstate = "/run/judge"\n'
    main.write_text(f'{top}{text}\n[grpc]\n  address = "{folder}/c.sock"\n[ttrpc]\n  address = "{folder}/t.sock"\n')
    shims = os.path.dirname(need_real(f"containerd-{'2.3' if line == '2.3' else '1.6'}/containerd-shim-runc-v2", HOW))
    log = folder / "log"
    inside = 'mount -t tmpfs tmpfs /run && exec "$0" -c "$1"'
    argv = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", inside, program(line), str(main)]
    environment = {"PATH": f"{shims}:/usr/sbin:/usr/bin:/sbin:/bin", "XDG_CONFIG_HOME": str(folder / "xdg"), "HOME": str(folder)}
    with log.open("w") as out:
        process = subprocess.Popen(argv, stdout=out, stderr=out, cwd="/", env=environment)
    try:
        end = time.monotonic() + 30
        while "successfully booted" not in log.read_text() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        assert process.poll() is None, log.read_text()[-3000:]
        yield lambda image, handler: asked(folder, image, handler)
    finally:
        process.kill()
        process.wait()
        main.write_text(text)


def asked(folder, image, handler):
    argv = [os.path.join(CACHE, "cri/cri"), "run", str(folder / "c.sock"), image, handler]
    run = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize(("line", "config"), CASES)
def test_a_container_of_the_handler_sees_the_device_and_another_does_not(line, config, image, folder):
    text = CONFIGS[config].format(image=image)
    before = Host("containerd", version_of(line), {MAIN: text})
    portion = planned(before)
    assert not portion.refusals
    after = {one.path.removeprefix("/etc/containerd/"): one.content for one in writes(portion)}
    with started(line, folder, {"config.toml": text}) as ask:
        assert 'no runtime for "nvidia" is configured' in ask(image, "nvidia")["error"]
        assert ask(image, "").get("exit") == 3
    with started(line, folder, {"config.toml": text, **after}) as ask:
        seen, other = ask(image, "nvidia"), ask(image, "")
        assert seen.get("exit") == 0, seen
        assert "195 0 yes" in seen["log"]
        assert other.get("exit") == 3, other
    for name in after:
        (folder / "etc" / name).unlink()
    with started(line, folder, {"config.toml": text}) as ask:  # as a rollback leaves it
        assert "error" in ask(image, "nvidia")
        assert ask(image, "").get("exit") == 3
