"""What an installation never does, and what forbids one on a host that runs: real apt and dpkg in real roots."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.real.conftest import need_module, need_real
from tests.real.installing import Host, changed
from tests.real.installroots import STUB, clone, place, tree
from tests.real.liveroot import Live

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and mounts need root")
ONLY = ("--only", "toolkit", "--only", "runtime")
OLD, NEW = "570.211.01", "580.178.04"
HOLD = "import os, sys; os.open(sys.argv[1], os.O_RDWR); print(flush=True); sys.stdin.read()"
#: In the environment, in apt's configuration, in an address among apt's sources.
SECRETS = ("hunter2environment", "hunter2configuration", "hunter2address")


def needed():
    need_real("mmdebstrap", "sudo bash tests/real/install.sh")
    need_module("ansible_runner", "pip install -e '.[dev]'")


# -- on a host that runs


@pytest.fixture(scope="module")
def machine():
    needed()
    with place() as where:
        root = clone("debian", where)
        root.apt("install", f"linux-image-{os.uname().release}")
        host = Live(root)
        host.gpu()
        yield host


@pytest.fixture
def host(machine):
    with machine.up():
        yield machine


def refusals(host, *words):
    """What refuses, by id; nothing at all has changed."""
    before = tree(host.root.path)
    done = host.call("install", "--yes", "--format", "json", *words)
    assert changed(before, tree(host.root.path)) == []
    assert done.returncode == 4, done.stdout[-1500:] + done.stderr[-1500:]
    return {one["id"]: one for one in json.loads(done.stdout)["refusals"]}


@contextmanager
def written(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    had = path.read_text() if path.exists() else None
    path.write_text(text)
    try:
        yield
    finally:
        path.unlink()
        if had is not None:
            path.write_text(had)


def test_gpus_that_are_all_at_vfio_pci_refuse(machine):
    address = machine.made.root / "sys/bus/pci/devices/0000:1a:00.0"
    machine.made.directory("/sys/bus/pci/drivers/vfio-pci")
    (address / "driver").symlink_to(os.path.relpath(machine.made.root / "sys/bus/pci/drivers/vfio-pci", os.path.realpath(address)))
    try:
        with machine.up():
            assert list(refusals(machine)) == ["plan.passthrough"]
    finally:
        (address / "driver").unlink()


def test_secure_boot_without_a_key_of_the_host_refuses(machine):
    with written(machine.made.root / "sys/module/module/parameters/sig_enforce", "Y\n"), machine.up():
        found = refusals(machine, "--only", "driver")
    assert list(found) == ["plan.secure-boot"]
    assert any("mokutil --import" in step["text"] for step in found["plan.secure-boot"]["remedy"])


def test_a_driver_container_refuses(host):
    host.sh("mkdir -p /run/nvidia/driver/usr/bin /run/nvidia/validations && touch /run/nvidia/validations/.driver-ctr-ready")
    found = refusals(host, "--only", "driver")
    assert "plan.driver-container" in found, found


def test_a_system_that_is_replaced_as_a_whole_refuses(host):
    root = host.root.path
    with written(root / "usr/lib/os-release", "ID=flatcar\nNAME=Flatcar\n"), written(root / "usr/share/flatcar", ""):
        assert list(refusals(host)) == ["plan.managed-system"]


def test_a_gpu_in_use_refuses_with_who_uses_it_and_in_use_installs_beside_it(machine):
    host = machine
    node = host.root.path / "dev/nvidia0"
    os.mknod(node, 0o20666, os.makedev(1, 3))
    for name in ("nvidia", "nvidia_uvm"):
        host.module(name, OLD, users=1)
    with host.up():
        # the major of the node above
        host.sh("printf 'Character devices:\\n  1 nvidia\\n' >/run/devices && mount --bind /run/devices /proc/devices")
        job = subprocess.Popen(host.enter(sys.executable, "-c", HOLD, "/dev/nvidia0"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            job.stdout.readline()
            found = refusals(host, "--only", "driver")
            assert list(found) == ["plan.gpu-in-use"]
            pid = host.sh("ls -l /proc/[0-9]*/fd 2>/dev/null | awk -F/ '/^.proc/ {p=$3} /nvidia0$/ {print p}'").strip()
            assert f"(pid {pid}) with /dev/nvidia0" in found["plan.gpu-in-use"]["message"]
            assert "python" in found["plan.gpu-in-use"]["message"]
            done = host.install("--only", "driver", "--in-use")
            assert done.returncode == 3, done.stdout + done.stderr
            assert job.poll() is None
            assert host.loaded() == {"nvidia": OLD, "nvidia_uvm": OLD}
            assert host.root.packages()["libcuda1"].endswith(f"{NEW}-1")
        finally:
            job.stdin.close()
            job.wait(30)


# -- below a root


def _leads_out(root, link, outside):
    """A link to something that is outside the root, by a name that the root does not have."""
    path, target = root.path / link, outside / os.path.basename(link)
    if path.suffix:
        target.write_text("{}\n")
    else:
        target.mkdir(mode=0o700)
        (target / "mine").write_text("mine\n")
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("etc/apt", "/etc/apt"),
        ("etc/containerd", "found /etc/containerd, a link that leads nowhere"),
        ("var/lib/hostagent", "found /var/lib/hostagent, a link that leads nowhere"),
        ("etc/docker/daemon.json", ""),
    ],
)
def test_a_symbolic_link_leads_nobody_out_of_the_root(make_root, tmp_path, link, said):
    needed()
    root = make_root("debian")
    if "docker" in link:
        (root.path / "usr/bin/dockerd").write_text("#!/bin/sh\n")
        (root.path / "usr/bin/dockerd").chmod(0o755)
        (root.path / "usr/lib/systemd/system/docker.service").write_text(
            "[Service]\nExecStart=/usr/bin/dockerd\n[Install]\nWantedBy=multi-user.target\n"
        )
        root.run("systemctl", "--root=/", "enable", "docker")
    _leads_out(root, link, tmp_path)
    before, inside = tree(tmp_path), tree(root.path)
    done = Host(root).install(*ONLY)
    assert changed(before, tree(tmp_path)) == []
    if said:
        assert (done.returncode, changed(inside, tree(root.path))) == (4, []), done.stdout + done.stderr
        assert said in done.stdout + done.stderr
    else:
        assert "daemon.json" in done.stdout
        assert done.returncode in (0, 4), done.stdout + done.stderr


class Proxy(SimpleHTTPRequestHandler):
    """Whatever host is asked for has the root's repositories; who does not say the password gets nothing."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Proxy-Authorization", "")))
        if not self.headers.get("Proxy-Authorization"):
            self.send_error(407)
            return
        self.path = "/" + self.path.partition("://")[2].partition("/")[2]
        super().do_GET()

    def log_message(self, *words):
        pass


@contextmanager
def proxy(directory):
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *words: Proxy(*words, directory=str(directory)))
    server.daemon_threads, server.asked = True, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class Watch:
    """All command lines of this machine that say one of the words, as long as it looks."""

    def __init__(self, words):
        self.found, self.looks, self._words, self._on = set(), 0, [word.encode() for word in words], True
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._on = False
        self._thread.join()

    def _look(self):
        while self._on:
            for name in os.listdir("/proc"):
                if name.isdecimal():
                    try:
                        line = Path("/proc", name, "cmdline").read_bytes()
                    except OSError:
                        continue
                    if any(word in line for word in self._words):
                        self.found.add(line)
            self.looks += 1
            time.sleep(0.01)


def with_secret(path, *but):
    """Files that have one of the secrets in them."""
    command = ["grep", "-rlaE", "--devices=skip", "|".join(SECRETS), str(path)]
    return sorted(set(subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()) - {str(one) for one in but})


@pytest.fixture(scope="module")
def installed():
    """A host with secrets, what `plan` and a rehearsal say of it, and what installing it said: what was seen of all of it."""
    needed()
    with place() as where:
        root = clone("debian", where)
        host = Host(root)
        key = root.stubs.keys.path("good")
        shutil.copy(key, root.path / "usr/share/keyrings/stub-cuda.gpg")
        with proxy(root.path / STUB) as server:
            port = server.server_address[1]
            text = host.profile.read_text()
            host.profile.write_text(text.replace(f"file:/{STUB}/", "http://repository.example/"))
            conf, source = root.path / "etc/apt/apt.conf.d/90proxy", root.path / "etc/apt/sources.list.d/site.list"
            conf.write_text(f'Acquire::http::Proxy::other.example "http://me:{SECRETS[1]}@127.0.0.1:{port}";\n')
            source.write_text(f"deb [signed-by=/usr/share/keyrings/stub-cuda.gpg] http://me:{SECRETS[2]}@other.example/cuda ./\n")
            environment = {"http_proxy": f"http://me:{SECRETS[0]}@127.0.0.1:{port}"}
            host.files = [tree(root.path)]
            with Watch(SECRETS) as watch:
                plan = host.call("plan", "--format", "json", *ONLY, **environment)
                host.files.append(tree(root.path))
                dry = host.call("install", "--dry-run", *ONLY, **environment)
                host.files.append(tree(root.path))
                done = host.install(*ONLY, **environment)
            seen = SimpleNamespace(host=host, plan=plan, dry=dry, done=done, watch=watch, asked=server.asked, planted=(conf, source))
            seen.environment = environment
            yield seen


def test_plan_and_dry_run_change_nothing_and_name_the_steps_that_install_then_does(installed):
    assert installed.plan.returncode == 0, installed.plan.stdout + installed.plan.stderr
    assert installed.dry.returncode == 0, installed.dry.stdout + installed.dry.stderr
    assert installed.done.returncode == 0, installed.done.stdout[-3000:] + installed.done.stderr[-3000:]
    first, *others = installed.host.files
    assert [changed(first, other) for other in others] == [[], []]
    todo = [one for one in json.loads(installed.plan.stdout)["steps"] if one["state"] == "to-do"]
    told = [line.split("] ", 1)[1].split(":")[0] for line in installed.done.stderr.splitlines() if line.startswith("[")]
    assert list(dict.fromkeys(told)) == [one["id"] for one in todo]
    assert [one["title"] for one in todo if one["title"] not in " ".join(installed.dry.stdout.split())] == []


def test_a_password_is_nowhere_on_disk_in_what_is_said_or_on_the_process_list(installed):
    assert installed.done.returncode == 0, installed.done.stderr
    assert {"repository.example", "other.example"} <= {
        path.partition("://")[2].partition("/")[0].rpartition("@")[2] for path, word in installed.asked if word
    }
    assert with_secret(installed.host.root.path, *installed.planted) == []
    assert with_secret("/run/hostagent-install") == []
    said = "".join(one.stdout + one.stderr for one in (installed.plan, installed.dry, installed.done))
    assert [word for word in SECRETS if word in said] == []
    assert installed.watch.looks > 50
    assert installed.watch.found == set()


def test_a_proxy_that_is_not_there_is_told_without_its_password(installed):
    host = installed.host
    done = host.call("plan", "--only", "driver", http_proxy=f"http://me:{SECRETS[0]}@127.0.0.1:9")
    assert done.returncode == 4, done.stdout + done.stderr
    assert [word for word in SECRETS if word in done.stdout + done.stderr] == []


def spent(host, *words, **environment):
    """Seconds of CPU, the least of three runs."""
    seconds = []
    for _ in range(3):
        before = os.times()
        done = host.call(*words, **environment)
        after = os.times()
        assert done.returncode in (0, 1), done.stdout + done.stderr
        seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(seconds)


@contextmanager
def without_apt(root):
    """Whoever asks apt is told of a failure."""
    names = ("usr/bin/apt-get", "usr/bin/apt-cache", "usr/bin/apt", "usr/bin/apt-mark")
    for name in names:
        shutil.move(root / name, root / f"{name}.real")
        (root / name).write_text("#!/bin/sh\nexit 100\n")
        (root / name).chmod(0o755)
    try:
        yield
    finally:
        for name in names:
            shutil.move(root / f"{name}.real", root / name)


def test_a_second_run_changes_nothing_starts_no_ansible_and_asks_no_repository(installed, tmp_path):
    host, root = installed.host, installed.host.root.path
    mark = tmp_path / "ansible"
    for name in ("ansible_runner", "ansible"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "__init__.py").write_text(f"open({str(mark)!r} + '.started', 'a')\n")
    path = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    with without_apt(root):
        before, runs, asked = tree(root), host.runs(), len(installed.asked)
        done = host.install(*ONLY, PYTHONPATH=path, **installed.environment)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "NOTHING TO DO" in done.stdout
        assert changed(before, tree(root)) == []
        assert host.runs() == runs
        # that it would show: a plan for which there is something to do asks
        assert host.call("plan", "--only", "driver", **installed.environment).returncode == 4
    assert len(installed.asked) == asked
    assert list(tmp_path.glob("*.started")) == []


def test_a_second_run_costs_what_check_costs(installed):
    """`make bench` measures it; here a busy machine gets its part."""
    host = installed.host
    second, check = spent(host, "install", "--yes", *ONLY), spent(host, "check", "--kernel", host.root.kernel)
    assert second <= 2 * check, f"{second:.2f} s of CPU, check takes {check:.2f} s"
