"""dockerd judges our view of daemon.json: by starting, up to the point where it looks for runc.

``dockerd --validate`` accepts runtimes that the daemon then refuses, so it is the daemon that is asked. PATH holds containerd
and no runc: a configuration that is accepted ends with "failed to find runc binary", and nothing of this machine is touched.
"""

import os
import shutil
import subprocess
import tempfile

import pytest

from hostagent.domains.runtime.docker import DockerConfigError, parse_daemon_json, with_flags
from tests.real.conftest import need_real

HOW = "tests/real/install_containerd.sh"
CONFIGURATIONS = [
    "", " ", "{}", "null", "\ufeff{}", "[]", "{", '{"features": {}} x', "// comment\n{}",
    '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}}}',
    '{"runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime"}}, "default-runtime": "nvidia"}',
    '{"runtimes": {"nvidia": {"runtimeType": "io.containerd.runc.v2"}}}',
    '{"runtimes": {"nvidia": {"path": "x", "runtimeType": "io.containerd.runc.v2"}}}',
    '{"runtimes": {"nvidia": {}}}', '{"runtimes": {"nvidia": null}}', '{"runtimes": {"nvidia": 1}}', '{"runtimes": null}',
    '{"runtimes": {"runc": {"path": "x"}}}', '{"runtimes": 1}', '{"runtimes": {"nvidia": {"path": 1}}}',
    '{"default-runtime": "nvidia"}', '{"default-runtime": "io.containerd.runc.v2"}', '{"default-runtime": ""}', '{"default-runtime": 1}',
    '{"features": {"cdi": true}}', '{"features": {"cdi": "x"}}', '{"features": {"cdi": null}}', '{"features": {"x": 1}}', '{"features": 1}',
    '{"exec-opts": ["native.cgroupdriver=systemd"]}', '{"exec-opts": ["native.cgroupdriver=x"]}', '{"exec-opts": "x"}',
    '{"cdi-spec-dirs": ["/x"]}', '{"cdi-spec-dirs": "/x"}', '{"hosts": 1}',
]  # fmt: skip


#: daemon.json and flags beside it.
BOTH = [
    ('{"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}', "--add-runtime=nvidia=/usr/bin/x"),
    ("{}", "--add-runtime=nvidia=/usr/bin/x --default-runtime=nvidia"),
    ("{}", "--default-runtime=nvidia"),
    ('{"runtimes": {"nvidia": {"path": "x"}}}', "--default-runtime nvidia"),
    ('{"default-runtime": "nvidia"}', "--add-runtime nvidia=/x"),
    ('{"default-runtime": "nvidia", "runtimes": {"nvidia": {"path": "x"}}}', "--default-runtime=nvidia"),
    ('{"exec-opts": ["native.cgroupdriver=systemd"]}', "--exec-opt native.cgroupdriver=systemd"),
    ('{"hosts": ["unix:///x"]}', "-H fd://"),
]


def accepts(text, *more):
    daemon = need_real("docker-26/dockerd", HOW)
    containerd = os.path.dirname(need_real("containerd-1.7/containerd", HOW))
    directory = tempfile.mkdtemp(prefix="dkr", dir="/tmp")
    try:
        path = f"{directory}/daemon.json"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        flags = {"config-file": path, "data-root": f"{directory}/d", "exec-root": f"{directory}/e", "pidfile": f"{directory}/pid"}
        flags |= {"userland-proxy-path": "/bin/true", "bridge": "none", "iptables": "false", "ip6tables": "false", "storage-driver": "vfs"}
        argv = [
            daemon,
            *(f"--{key}={value}" for key, value in flags.items()),
            *([] if "hosts" in text else ["-H", f"unix://{directory}/s"]),
            *more,
        ]
        run = subprocess.run(argv, capture_output=True, text=True, env={"PATH": containerd}, timeout=30, check=False)
        return "failed to find runc binary" in run.stderr
    finally:
        subprocess.run(["umount", f"{directory}/d"], capture_output=True, check=False)  # dockerd mounts its data on itself
        shutil.rmtree(directory, ignore_errors=True)


@pytest.mark.parametrize("text", CONFIGURATIONS)
def test_we_refuse_what_dockerd_refuses(text):
    if os.geteuid() != 0:
        pytest.skip("dockerd starts only as root")
    try:
        with_flags(parse_daemon_json(text), (), "26.1.5")
        ours = True
    except DockerConfigError:
        ours = False
    assert ours == accepts(text)


@pytest.mark.parametrize(("text", "flags"), BOTH)
def test_we_refuse_a_file_and_flags_that_dockerd_refuses(text, flags):
    if os.geteuid() != 0:
        pytest.skip("dockerd starts only as root")
    words = tuple(flags.split())
    try:
        with_flags(parse_daemon_json(text), words, "26.1.5")
        ours = True
    except DockerConfigError:
        ours = False
    assert ours == accepts(text, *words)
