"""Container runtimes, read from a host made of a dictionary."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.tables import daemons
from hostagent.core.toml import TomlError, parse_toml
from hostagent.core.unread import Unread
from hostagent.domains.runtime import docker, read_crio
from hostagent.domains.runtime.read_containerd import effective
from hostagent.domains.runtime.read_places import parse_version
from hostagent.domains.runtime.read_runtimes import read_runtimes
from hostagent.facts.host import Machine, Process, Services, Unit
from hostagent.facts.packages import Package, Packages
from hostagent.testing import host

UNREAD = Unread("not-recorded", "not asked")
MAIN = "/etc/containerd/config.toml"
NVIDIA = """
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
BinaryName = "/usr/bin/nvidia-container-runtime"
"""
SOCKET = "/run/containerd/containerd.sock"
PROGRAMS = {"/usr/bin/containerd": "", "/usr/bin/runc": "", "/usr/bin/nvidia-container-runtime": ""}


def no_unit(name):
    none = Unread("absent", "no such unit")
    return Unit(name, exists=False, state=none, enabled=none, masked=none, active=none, text=none)


def known(packages=(), processes=(), sockets=(), unseen=(), units=()):
    installed = tuple(Package(name, version, version, "amd64", "installed", False, "distribution") for name, version in packages)
    told = {"processes": processes, "listening_sockets": sockets, "unseen_sockets": unseen}
    machine = dict.fromkeys(Machine.__dataclass_fields__, UNREAD) | told
    database = dict.fromkeys(Packages.__dataclass_fields__, UNREAD) | {"installed": installed}
    facts = {Machine: Machine(**machine), Packages: Packages(**database), Services: Services((*units, *map(no_unit, daemons.units())))}
    return lambda kind: facts[kind]


def read(files, **facts):
    return read_runtimes(host(files), known(**facts))


def test_a_host_without_runtimes_has_none():
    assert read({}) == ()


def test_containerd_without_a_configuration_has_the_built_in_one():
    (one,) = read({**PROGRAMS}, packages=[("containerd.io", "2.1.4")])
    assert (one.key, one.state, one.default_runtime, one.cdi_enabled, one.config_files) == ("containerd", "accepted", "runc", True, ())
    assert [handler.binary_exists for handler in one.handlers] == [True]
    assert one.newest_config_mtime.why == "absent"


def test_the_version_comes_from_the_program_where_no_package_says_it():
    answer = {"exit_code": 0, "stdout": "containerd github.com/containerd/containerd v1.7.27 05044ec0\n", "stderr": ""}
    (one,) = read({**PROGRAMS, "run /usr/bin/containerd --version": answer})
    assert one.version == "1.7.27"


def test_without_a_version_the_newest_rules_count_and_the_difference_is_said():
    (one,) = read({**PROGRAMS, MAIN: "version = 2" + NVIDIA})
    assert (one.state, one.judged_as) == ("accepted", "older-differs")  # 1.x replaces the built-in entry of runc, and refuses its default
    assert [handler.name for handler in one.handlers] == ["nvidia", "runc"]


def test_a_version_newer_than_any_measured_refuses_nothing_that_is_only_newer():
    (one,) = read({**PROGRAMS, MAIN: "version = 9"}, packages=[("containerd.io", "3.1.0")])
    assert (one.state, one.judged_as) == ("accepted", "newer")


def test_a_configuration_without_a_program_is_absent():
    (one,) = read({MAIN: "version = 2"})
    assert one.state == "absent"


def test_the_running_process_names_its_configuration():
    process = Process(7, "containerd", ("/usr/bin/containerd", "--config=/opt/c.toml"), 50.0, "containerd.service")
    (one,) = read({**PROGRAMS, "/opt/c.toml": "version = 2" + NVIDIA}, packages=[("containerd", "2.0.1")], processes=(process,))
    assert one.config_files == ("/opt/c.toml",)
    assert (one.running, one.started_at) == (True, 50.0)


@pytest.mark.parametrize("pids", [(7, 8), (8, 7)])
def test_of_two_daemons_that_of_the_runtimes_own_unit_names_the_configuration(pids):
    own = Process(pids[0], "containerd", ("containerd", "-c", "/opt/own.toml"), 60.0, "containerd.service")
    other = Process(pids[1], "containerd", ("containerd", "-c", "/opt/other.toml"), 50.0, "host-containerd.service")
    files = {**PROGRAMS, "/opt/own.toml": "version = 2", "/opt/other.toml": "version = 2" + NVIDIA}
    (one,) = read(files, packages=[("containerd", "2.0.1")], processes=tuple(sorted((own, other), key=lambda process: process.pid)))
    assert (one.config_files, one.started_at) == (("/opt/own.toml",), 50.0)


def test_a_process_that_may_be_anybodys_leaves_open_whether_the_runtime_runs_and_names_no_file():
    whose = Unread("denied", "who runs it cannot be seen")
    process = Process(7, "containerd", (), 50.0, whose)
    (one,) = read({**PROGRAMS, MAIN: "version = 2"}, packages=[("containerd", "2.0.1")], processes=(process,), sockets=(SOCKET,))
    assert (one.config_files, one.running, one.started_at, one.socket_listening) == ((MAIN,), whose, whose, whose)


@pytest.mark.parametrize(
    ("runs", "sockets", "listens"),
    [
        (True, {"sockets": (SOCKET,)}, True),
        (True, {}, False),
        (True, {"unseen": (SOCKET,)}, Unread("denied", f"somebody listens on {SOCKET}, and whose file that is cannot be seen")),
        (True, {"unseen": ("/run/other.sock",)}, False),
        (True, {"sockets": UNREAD}, UNREAD),
        (False, {"sockets": (SOCKET,)}, False),
    ],
)
def test_a_socket_counts_while_its_daemon_runs(runs, sockets, listens):
    """Anybody may have the path in the kernel's list while the daemon, which left the file behind, is dead."""
    processes = (Process(7, "containerd", ("containerd",), 50.0, "containerd.service"),) if runs else ()
    (one,) = read(PROGRAMS, packages=[("containerd", "2.0.1")], processes=processes, **sockets)
    assert one.socket_listening == listens if isinstance(listens, Unread) else one.socket_listening is listens


def test_dockers_own_containerd_is_no_runtime_beside_it():
    processes = (
        Process(7, "dockerd", ("/usr/bin/dockerd",), 50.0, "docker.service"),
        Process(8, "containerd", ("containerd", "--config", "/var/run/docker/containerd/containerd.toml"), 51.0, "docker.service"),
    )
    assert [one.key for one in read({"/usr/bin/dockerd": ""}, packages=[("docker-ce", "28.5.2")], processes=processes)] == ["docker"]


def test_k3s_has_its_own_place():
    config = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
    program = "/var/lib/rancher/k3s/data/current/bin/containerd"
    version = {"exit_code": 0, "stdout": "containerd github.com/k3s-io/containerd v2.0.5-k3s1\n", "stderr": ""}
    process = Process(7, "containerd", ("containerd", "-c", config, "-a", "/run/k3s/containerd/containerd.sock"), 50.0, "k3s.service")
    files = {config: "version = 2" + NVIDIA, program: "", f"run {program} --version": version}
    (one,) = read(files, processes=(process,), sockets=("/run/k3s/containerd/containerd.sock",))
    assert (one.key, one.version, one.state, one.socket_listening) == ("k3s", "2.0.5", "accepted", True)
    assert [handler.name for handler in one.nvidia_handlers] == ["nvidia"]


def test_a_disabled_cri_puts_no_handler_into_force():
    (one,) = read({**PROGRAMS, MAIN: 'disabled_plugins = ["cri"]'}, packages=[("containerd.io", "1.7.27")])
    assert (one.state, one.handlers.why, one.config_version) == ("cri_disabled", "absent", 1)


def test_a_rejected_file_is_named():
    (one,) = read({**PROGRAMS, MAIN: 'version = 2\n{{ template "base" . }}'}, packages=[("containerd.io", "1.7.27")])
    assert one.state == "rejected"
    assert one.error == f"{MAIN}: Invalid statement (at line 2, column 1)"


def test_an_unreadable_file_is_unread():
    (one,) = read({**PROGRAMS, MAIN: Unread("denied", MAIN)}, packages=[("containerd.io", "1.7.27")])
    assert one.state == Unread("denied", MAIN)


def test_a_drop_in_that_nothing_imports_is_found():
    files = {**PROGRAMS, MAIN: "version = 2", "/etc/containerd/conf.d/99-nvidia.toml": "version = 2" + NVIDIA}
    (one,) = read(files, packages=[("containerd.io", "1.7.27")])
    assert one.unimported == ("/etc/containerd/conf.d/99-nvidia.toml",)


def test_old_names_in_a_version_3_file_are_misplaced():
    (one,) = read({**PROGRAMS, MAIN: "version = 3" + NVIDIA}, packages=[("containerd.io", "2.1.4")])
    assert one.misplaced == ('plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia',)


class Aged:
    """A host whose files have ages."""

    kind = "live"

    def __init__(self, files, ages):
        self.files, self.ages = host(files), ages

    def ask(self, method, *arguments):
        answer = self.files._backend.ask(method, *arguments)
        return {**answer, "mtime": self.ages.get(arguments[0], 0.0)} if method == "stat" and isinstance(answer, dict) else answer

    def close(self):
        pass


@pytest.mark.parametrize(
    ("version", "lost"),
    [("1.7.27", ["sandbox_image", "containerd.snapshotter"]), ("2.1.4", ["sandbox_image"])],
)
def test_an_older_drop_in_shadows_the_main_file(version, lost):
    from hostagent.host.source import Source

    table = '[plugins."io.containerd.grpc.v1.cri"]\n'
    drop_in = "/etc/containerd/conf.d/99.toml"
    files = {
        MAIN: f'version = 2\nimports = ["/etc/containerd/conf.d/*.toml"]\n{table}sandbox_image = "new"\n'
        '[plugins."io.containerd.grpc.v1.cri".containerd]\nsnapshotter = "zfs"\n',
        drop_in: f'version = 2\n{table}sandbox_image = "old"\n' + NVIDIA,
    }
    older = effective(Source(Aged(files, {MAIN: 20.0, drop_in: 10.0})), MAIN, version)
    assert list(older.shadowed) == [f"{drop_in}: {key}" for key in lost]
    assert effective(Source(Aged(files, {MAIN: 10.0, drop_in: 20.0})), MAIN, version).shadowed == ()


def test_docker_reads_daemon_json():
    text = '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}, "default-runtime": "nvidia", "features": {"cdi": true}}'
    files = {"/usr/bin/dockerd": "", "/etc/docker/daemon.json": text, "/usr/bin/nvidia-container-runtime": ""}
    process = Process(7, "dockerd", ("/usr/bin/dockerd",), 50.0, "docker.service")
    (one,) = read(files, packages=[("docker-ce", "27.0")], processes=(process,), sockets=("/var/run/docker.sock",))
    assert (one.state, one.default_runtime, one.cdi_enabled, one.cgroup_driver) == ("accepted", "nvidia", True, "cgroupfs")
    assert [(one.name, one.binary_exists) for one in one.nvidia_handlers] == [("nvidia", True)]
    assert one.socket_listening is True


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"default-runtime": "nvidia"}', '{"runtimes": 1}', '{"features": {"cdi": "x"}}', "[" * 100_000]
)
def test_docker_refuses(text):
    (one,) = read({"/usr/bin/dockerd": "", "/etc/docker/daemon.json": text}, packages=[("docker-ce", "27.0")])
    assert one.state == "rejected"
    assert one.error.startswith("/etc/docker/daemon.json: ")


def test_crio_merges_its_drop_ins_and_the_wrong_folder_is_told():
    entry = '[crio.runtime.runtimes.nvidia]\nruntime_path = "/usr/bin/nvidia-container-runtime"\n'
    files = {
        "/usr/bin/crio": "",
        "/etc/crio/crio.conf": '[crio.runtime]\ncgroup_manager = "cgroupfs"\n',
        "/etc/crio/crio.conf.d/10-crun.conf": '[crio.runtime]\ndefault_runtime = "crun"\n[crio.runtime.runtimes.crun]\n',
        "/etc/crio/conf.d/99-nvidia.toml": entry,
    }
    (one,) = read(files, packages=[("cri-o", "1.31.2")])
    assert (one.default_runtime, one.cgroup_driver, one.nvidia_handlers) == ("crun", "cgroupfs", ())
    assert one.unimported == ("/etc/crio/conf.d/99-nvidia.toml",)
    (right,) = read({**files, "/etc/crio/crio.conf.d/99-nvidia.toml": entry}, packages=[("cri-o", "1.31.2")])
    assert [handler.runtime_type for handler in right.nvidia_handlers] == ["oci"]


@pytest.mark.parametrize("flags", [("-d", "/opt/crio/conf.d"), ("--config-dir=/opt/crio/conf.d",)])
def test_crio_reads_the_drop_ins_of_its_flag_and_none_of_the_usual_directory(flags):
    entry = '[crio.runtime.runtimes.nvidia]\nruntime_path = "/usr/bin/nvidia-container-runtime"\n'
    process = Process(902, "crio", ("/usr/bin/crio", *flags), 1.0, "crio.service")

    def crio(path):
        files = {"/usr/bin/crio": "", "/opt/crio/conf.d/10-crio.conf": "[crio.runtime.runtimes.crun]\n", path: entry}
        return read(files, packages=[("cri-o", "1.34.2")], processes=(process,), sockets=(), unseen=())[0]

    there = crio("/opt/crio/conf.d/99-nvidia.toml")
    assert ([one.name for one in there.nvidia_handlers], there.unimported) == (["nvidia"], ())
    usual = crio("/etc/crio/crio.conf.d/99-nvidia.toml")
    assert (usual.nvidia_handlers, usual.unimported) == ((), ("/etc/crio/crio.conf.d/99-nvidia.toml",))


def test_k0s_with_a_data_directory_of_its_own_has_its_programs_there():
    answer = {"exit_code": 0, "stdout": "containerd github.com/containerd/containerd v2.1.5 fcd43222\n", "stderr": ""}
    argv = ("/data/k0s/bin/containerd", "--root=/data/k0s/containerd", "--config=/etc/k0s/containerd.toml")
    process = Process(950, "containerd", argv, 1.0, "k0sworker.service")
    files = {"/etc/k0s/containerd.toml": "version = 3\n", "/data/k0s/bin/containerd": "", "run /data/k0s/bin/containerd --version": answer}
    (one,) = read(files, processes=(process,), sockets=(), unseen=())
    assert (one.key, one.version) == ("k0s", "2.1.5")


VERSIONS = st.sampled_from(("1.6.20", "1.7.27", "2.1.4", "", "x", "9" * 50))
PIECES = st.sampled_from(
    ("version = 2\n", "version = 3\n", 'imports = ["*"]\n', '[plugins."io.containerd.grpc.v1.cri"]\n', "[plugins.cri.containerd]\n",
     'disabled_plugins = ["cri"]\n', "plugins = 1\n", "runtimes = 1\n", "[a.b]\n", "{{", "\0", "options = 1\n", 'imports = ["[*"]\n')
)  # fmt: skip


@given(st.binary() | st.lists(PIECES).map(lambda parts: "".join(parts).encode()), VERSIONS)
def test_any_bytes_are_a_state_or_unread(data, version):
    effective(host({MAIN: data, "/etc/containerd/x.toml": data}), MAIN, version)


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_toml_or_a_toml_error(data):
    for strict in (True, False):
        try:
            parse_toml(data, strict=strict)
        except TomlError:
            continue


JSON = st.recursive(
    st.none() | st.booleans() | st.text() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(("runtimes", "features", "cdi", "exec-opts", "x")), inner),
)


@given(st.text() | JSON.map(json.dumps))
def test_any_text_is_a_daemon_json_or_refused(text):
    with contextlib.suppress(docker.DockerConfigError):
        docker.parse_daemon_json(text)


@given(st.dictionaries(st.sampled_from(("runtime", "api", "x")), JSON))
def test_any_table_is_crios_or_refused(table):
    with contextlib.suppress(read_crio.CrioConfigError):
        read_crio.merge_crio([("/etc/crio/crio.conf", table)])


@given(st.text())
def test_any_text_has_a_version_or_none(text):
    parse_version(text)


def test_a_long_dotted_key_is_refused_at_once():
    with pytest.raises(TomlError, match="dots"):
        parse_toml(b"a." * 100_000 + b"b = 1")


@pytest.mark.parametrize("question", ["list /etc/containerd/conf.d", "stat /etc/containerd/a/x.toml"])
@pytest.mark.parametrize("why", ["denied", "error"])
def test_an_import_that_nobody_could_look_for_is_not_one_that_is_not_there(question, why):
    text = 'version = 2\nimports = ["/etc/containerd/conf.d/*.toml", "/etc/containerd/*/x.toml"]\n'
    files = {**PROGRAMS, MAIN: text, "/etc/containerd/conf.d/9.toml": NVIDIA, "/etc/containerd/a/x.toml": "version = 2"}
    lost = Unread(why, question)
    (one,) = read({**files, question: lost}, packages=[("containerd.io", "1.7.27")])
    assert one.handlers == lost


@pytest.mark.parametrize(
    ("key", "unit", "program", "toolkit", "found"),
    [
        ("k3s", "k3s-agent", "/usr/local/bin/k3s", "/usr/bin/nvidia-container-runtime", ["nvidia"]),
        ("rke2", "rke2-server", "/opt/rke2/bin/rke2", "/usr/local/nvidia/toolkit/nvidia-container-runtime", ["nvidia"]),
        ("rke2", "rke2-agent", "/usr/bin/rke2", "/usr/bin/else", []),
        ("k0s", "k0sworker", "/usr/local/bin/k0s", "/usr/bin/nvidia-container-runtime", "not-running"),
    ],
)
def test_a_distribution_that_never_started_is_there_and_its_configuration_is_not(key, unit, program, toolkit, found):
    there = Unit(unit, exists=True, state="enabled", enabled=True, masked=False, active=False, text="")
    (one,) = read({program: "", toolkit: ""}, units=[there])
    assert (one.key, one.in_use, one.running, one.state.why, one.cdi_enabled.why) == (key, True, False, "not-running", "not-running")
    handlers = one.handlers
    assert (handlers.why if isinstance(handlers, Unread) else [each.name for each in handlers]) == found


def test_a_program_without_a_unit_that_starts_it_is_no_runtime():
    assert read({"/usr/local/bin/k3s": ""}) == ()


@pytest.mark.parametrize(
    "files",
    [
        {f"/etc/containerd/conf.d/{number}.toml": "version = 2\n# " + "a" * 100_000 for number in range(40)},
        {f"/etc/containerd/conf.d/{number}.toml": "version = 2\n" for number in range(300)},
    ],
)
def test_a_flood_of_imports_costs_what_they_say_and_no_other_runtime(files):
    config = {MAIN: 'version = 2\nimports = ["/etc/containerd/conf.d/*.toml"]\n', "/usr/bin/dockerd": ""}
    flooded, docker = read({**PROGRAMS, **config, **files}, packages=[("containerd.io", "1.7.27"), ("docker-ce", "27.0")])
    assert (flooded.installed, flooded.running, flooded.state.why, docker.state) == (True, False, "error", "accepted")
    assert "found more than" in flooded.state.detail


def test_a_flood_of_drop_ins_that_nothing_imports_costs_them_alone():
    files = {f"/etc/containerd/conf.d/{number}.toml": "a" * 100_000 for number in range(40)}
    (one,) = read({**PROGRAMS, MAIN: "version = 2\n", **files}, packages=[("containerd.io", "1.7.27")])
    assert (one.state, one.unimported.why) == ("accepted", "error")


def test_a_flood_of_crios_files_costs_its_configuration():
    files = {f"/etc/crio/crio.conf.d/{number}.conf": "# " + "a" * 100_000 for number in range(40)}
    (one,) = read({"/usr/bin/crio": "", **files}, packages=[("cri-o", "1.34.2")])
    assert (one.installed, one.state.why) == (True, "error")


@pytest.mark.parametrize(
    ("version", "main", "drop_in", "refused"),
    [
        ("2.2.3", 2, 3, False),
        ("2.3.0", 2, 3, True),
        ("2.3.4", 2, 4, True),
        ("2.3.4", 3, 4, True),
        ("2.3.4", 4, 3, False),
        ("2.3.4", 2, 2, False),
        ("2.3.4", 0, 3, False),
        ("2.3.5", 2, 4, False),
        ("2.4.0", 2, 4, False),
    ],
)
def test_the_first_releases_of_containerd_23_refuse_a_drop_in_of_a_newer_version(version, main, drop_in, refused):
    """As config.LoadConfig of each version did (2.3.4 asked as a Go module)."""
    line = f"version = {main}\n" if main else ""
    files = {MAIN: f'{line}imports = ["/etc/containerd/conf.d/*.toml"]\n', "/etc/containerd/conf.d/9.toml": f"version = {drop_in}\n"}
    (one,) = read({**PROGRAMS, **files}, packages=[("containerd.io", version)])
    assert (one.state, one.error) == (
        ("rejected", f"drop-in config version {drop_in} higher than root config version {main}") if refused else ("accepted", "")
    )


@pytest.mark.parametrize(
    ("directory", "said", "program", "found"),
    [
        ("/usr/share/containers/oci/hooks.d", "", "/usr/bin/nvidia-container-runtime-hook", True),
        ("/run/containers/oci/hooks.d", "", "/usr/bin/nvidia-container-runtime-hook", False),
        ("/run/containers/oci/hooks.d", "/run/containers/oci/hooks.d", "/usr/bin/nvidia-container-runtime-hook", True),
        ("/usr/share/containers/oci/hooks.d", "/etc/hooks", "/usr/bin/nvidia-container-runtime-hook", False),
        ("/usr/share/containers/oci/hooks.d", "", "/usr/bin/gone/nvidia-container-runtime-hook", False),
        ("/usr/share/containers/oci/hooks.d", "", "/usr/bin/other-hook", False),
    ],
)
def test_a_hook_counts_in_a_directory_that_crio_lists_and_with_its_program(directory, said, program, found):
    path = f"{directory}/oci-nvidia-hook.json"
    hook = json.dumps({"version": "1.0.0", "hook": {"path": program}, "when": {"always": True}, "stages": ["prestart"]})
    there = {"kind": "file", "mode": 0o755, "uid": 0, "gid": 0, "size": 9, "mtime": 0.0, "major": 0, "minor": 0}
    files = {"/usr/bin/crio": "", path: hook}
    files |= {f"stat /usr/bin/{name}": there for name in ("nvidia-container-runtime-hook", "other-hook")}
    if said:
        files["/etc/crio/crio.conf.d/0.conf"] = f'[crio.runtime]\nhooks_dir = ["{said}"]\n'
    (one,) = read(files, packages=[("cri-o", "1.34.2")])
    assert one.oci_hooks == ((path,) if found else ())
