"""What a plan does to container runtimes: judged by the readers that `check` uses, on a host that is read again with the plan's files."""

import json
import subprocess
from dataclasses import replace

import pytest

from hostagent.core.toml import parse_toml
from hostagent.core.unread import Unread, UnreadError
from hostagent.facts.cdi import CdiSpec
from hostagent.facts.installation import ConfigFile
from hostagent.plan.model import Choices, DriverChoice, Run, ToolkitChoice
from hostagent.plan.runtime.containerd import DROP_IN, PROGRAM
from tests.plan_hosts import made_view
from tests.runtime_plans import AS_IT_IS, FROM_NOTHING, Host, ids, planned, unit, writes

MAIN, DAEMON = "/etc/containerd/config.toml", "/etc/docker/daemon.json"
V2 = """\
# The cluster's own file: kept by hand.
version = 2

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry/pause:3.9" # mirrored
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      base_runtime_spec = "/etc/containerd/cri-base.json"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = true

[metrics]
  address = "127.0.0.1:1338"
"""
V3 = V2.replace("version = 2", "version = 3").replace("io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime")


def runtime(one):
    (found,) = (found for found in one.view().runtimes if found.key == one.key)
    return found


def entry(one):
    return next(handler for handler in runtime(one).handlers if handler.name == "nvidia")


def only(portion, id_):
    (step,) = (step for step in portion.steps if step.id == id_)
    return step


@pytest.mark.parametrize(
    ("version", "files"),
    [
        ("1.6.20", {MAIN: V2}),
        ("1.7.24", {MAIN: V2}),
        ("1.7.24", {}),
        ("1.6.20", {}),
        ("2.1.4", {MAIN: V3}),
        ("2.1.4", {MAIN: V2}),
        ("2.3.7", {MAIN: V2}),
        ("2.3.7", {MAIN: V3}),
        ("2.1.4", {}),
        ("2.3.7", {}),
    ],
)
def test_containerd_gets_an_entry_like_runcs_and_keeps_all_else(version, files):
    before = Host(version=version, files=files)
    portion = planned(before)
    assert not portion.refusals
    step = only(portion, "runtime.containerd.config")
    assert not step.probe.done(before.view())
    after = before.laid(step.do)
    assert step.probe.done(after.view())
    assert entry(after).binary == PROGRAM
    assert (entry(after).runtime_type, entry(after).systemd_cgroup) == (
        "io.containerd.runc.v2",
        "SystemdCgroup = true" in files.get(MAIN, ""),
    )
    others = [[one for one in runtime(host).handlers if one.name != "nvidia"] for host in (before, after)]
    assert others[0] == others[1]
    assert not planned(after, AS_IT_IS).steps


@pytest.mark.parametrize(("version", "text"), [("1.7.24", V2), ("2.1.4", V3)])
def test_where_a_kubelet_says_its_cgroup_driver_the_entry_has_that_one(version, text):
    cgroupfs = text.replace("SystemdCgroup = true", "SystemdCgroup = false")
    before = Host(version=version, files={MAIN: cgroupfs})
    launchers = before.view().launchers
    said = replace(launchers, kubelets=tuple(replace(one, cgroup_driver="systemd") for one in launchers.kubelets))
    after = before.laid(only(planned(before, launchers=said), "runtime.containerd.config").do)
    assert entry(after).systemd_cgroup is True
    assert next(one for one in runtime(after).handlers if one.name == "runc").systemd_cgroup is False  # runc's stays as it is


def test_1_x_changes_the_main_file_alone_and_keeps_its_comments_and_its_order():
    (write,) = writes(planned(Host(version="1.7.24", files={MAIN: V2})))
    assert write.path == MAIN
    lines = iter(write.content.splitlines())
    assert all(line in lines for line in V2.splitlines() if line.strip())  # each, in the order in which they were
    table = parse_toml(write.content.encode())["plugins"]["io.containerd.grpc.v1.cri"]["containerd"]["runtimes"]
    assert table["nvidia"]["base_runtime_spec"] == table["runc"]["base_runtime_spec"]  # what runc's containers get, NVIDIA's get too


def test_2_x_gets_a_drop_in_of_ours_and_the_import_only_where_it_is_missing():
    first, second = writes(planned(Host(files={MAIN: V3})))
    assert (first.path, second.path) == (DROP_IN, MAIN)
    assert parse_toml(second.content.encode()) == {**parse_toml(V3.encode()), "imports": [DROP_IN]}
    imported = V3.replace("version = 3", 'version = 3\nimports = ["/etc/containerd/conf.d/*.toml"]')
    assert [one.path for one in writes(planned(Host(files={MAIN: imported})))] == [DROP_IN]


def test_a_drop_in_has_the_version_and_the_table_of_the_main_file():
    by_main = {text: parse_toml(writes(planned(Host(files={MAIN: text})))[0].content.encode()) for text in (V2, V3)}
    assert [one["version"] for one in by_main.values()] == [2, 3]
    assert [next(iter(one["plugins"])) for one in by_main.values()] == ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"]


def test_the_default_runtime_and_cdi_are_as_the_profile_says():
    for version, text in (("1.7.24", V2), ("2.1.4", V3)):
        before = Host(version=version, files={MAIN: text})
        after = before.laid(only(planned(before, runtime={"default_runtime": "nvidia"}), "runtime.containerd.config").do)
        assert runtime(after).default_runtime == "nvidia"
    before = Host(version="1.7.24", files={MAIN: V2})
    step = only(planned(before, runtime={"access": "cdi"}), "runtime.containerd.config")
    after = before.laid(step.do)
    assert runtime(after).cdi_enabled
    assert all(one.name != "nvidia" for one in runtime(after).handlers)  # CDI alone is asked for
    assert [one.id for one in planned(Host(version="1.6.20", files={MAIN: V2}), runtime={"access": "cdi"}).refusals] == [
        "plan.runtime-no-cdi"
    ]


@pytest.mark.parametrize(
    ("version", "files", "refused"),
    [
        ("1.7.24", {MAIN: "version = 2\n[plugins"}, "plan.runtime-rejected"),
        ("1.7.24", {MAIN: 'disabled_plugins = ["cri"]\n'}, "plan.runtime-cri-off"),
        ("2.1.4", {MAIN: 'disabled_plugins = ["cri"]\n'}, "plan.runtime-cri-off"),
        ("1.7.24", {MAIN: "[grpc]\n"}, "plan.runtime-unversioned"),
        ("2.1.4", {MAIN: "[grpc]\n"}, "plan.runtime-unversioned"),
        ("1.7.24", {MAIN: V2.replace("version = 2", 'version = 2\nimports = ["/etc/containerd/x.toml"]'), "/etc/containerd/x.toml": V2}, "plan.runtime-drop-in"),
        (
            "2.1.4",
            {MAIN: f'{V3}[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]\n  runtime_type = ""\n'
             '[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options]\n  BinaryName = "/usr/local/nvidia/toolkit/nvidia-container-runtime"\n'},
            "plan.runtime-operator",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_changed_safely_is_refused_and_nothing_is_written(version, files, refused):
    portion = planned(Host(version=version, files=files))
    assert [one.id for one in portion.refusals] == [refused]
    assert not writes(portion)


def test_an_entry_that_cannot_work_is_put_right():
    broken = V2 + '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]\n  runtime_type = "" # of an old toolkit\n'
    before = Host(version="1.7.24", files={MAIN: broken})
    step = only(planned(before), "runtime.containerd.config")
    after = before.laid(step.do)
    assert step.probe.done(after.view())
    assert "# of an old toolkit" in after.files[MAIN]


def test_where_gpus_reach_containers_already_nothing_is_written():
    spec = CdiSpec("/var/run/cdi/nvidia.yaml", "", "0.6.0", "nvidia.com/gpu", ("0", "1", "all"), ("580.142",), (), ())
    view = made_view()
    gpus = tuple(replace(one, index=number, uuid=f"GPU-{number}", mig=Unread("absent", "")) for number, one in enumerate(view.gpus))
    covered = replace(view.cdi, specs=(spec,), devices=("nvidia.com/gpu=0", "nvidia.com/gpu=1", "nvidia.com/gpu=all"))
    one = Host(files={MAIN: V3})
    assert ids(planned(one, cdi=covered, gpus=gpus)) == []
    assert "runtime.containerd.config" in ids(planned(one, cdi=covered, gpus=gpus, continued=["runtime.containerd.config"]))
    assert "runtime.containerd.config" in ids(planned(one, cdi=covered, gpus=gpus, runtime={"access": "handler"}))
    missed = replace(covered, devices=("nvidia.com/gpu=0", "nvidia.com/gpu=all"))
    assert "runtime.containerd.config" in ids(planned(one, cdi=missed, gpus=gpus))  # GPU 1 is in no specification


def test_nothing_is_planned_where_the_toolkit_is_somebody_elses_or_no_runtime_is_asked_for():
    one = Host(files={MAIN: V3})
    for overlay in ({"toolkit": {"owner": "container"}}, {"toolkit": {"required": "never"}}, {"runtime": {"kind": "none"}}):
        assert planned(one, **overlay).steps == ()


def test_what_could_not_be_read_stops_the_decision():
    view = Host(files={MAIN: V3}).view()
    denied = Unread("denied", MAIN)
    with pytest.raises(UnreadError):
        planned(Host(files={MAIN: V3}), runtimes=denied)
    files = (ConfigFile(MAIN, denied, denied, denied, denied),)
    with pytest.raises(UnreadError):
        planned(Host(files={MAIN: V3}), installation=replace(view.installation, files=files))


def test_a_snapshot_has_no_whole_file_so_that_the_settings_are_named():
    view = Host(files={MAIN: V3}).view()
    unknown = Unread("not-recorded", "")
    portion = planned(
        Host(files={MAIN: V3}), installation=replace(view.installation, files=(ConfigFile(MAIN, unknown, unknown, unknown, unknown),))
    )
    assert all(one.keys for one in writes(portion))
    assert [one.path for one in writes(portion)] == [DROP_IN, MAIN]


def test_docker_keeps_its_features_its_runtimes_and_its_indentation():
    text = '{\n  "features": {"buildkit": true},\n  "log-opts": {"max-size": "10m"},\n  "runtimes": {"kata": {"runtimeType": "io.containerd.kata.v2"}}\n}\n'
    before = Host("docker", "26.1.5", {DAEMON: text})
    step = only(planned(before, runtime={"default_runtime": "nvidia"}), "runtime.docker.config")
    (write,) = (one for one in step.do if not isinstance(one, Run))
    data = json.loads(write.content)
    assert data == {
        **json.loads(text),
        "runtimes": {"kata": {"runtimeType": "io.containerd.kata.v2"}, "nvidia": {"args": [], "path": PROGRAM}},
        "default-runtime": "nvidia",
    }
    assert list(data) == ["features", "log-opts", "runtimes", "default-runtime"]
    assert '\n  "features": {\n    "buildkit"' in write.content
    assert step.probe.done(before.laid(step.do).view())


def test_docker_gets_a_file_where_it_has_none_and_cdi_beside_other_features():
    (write,) = writes(planned(Host("docker", "26.1.5", {})))
    assert json.loads(write.content) == {"runtimes": {"nvidia": {"args": [], "path": PROGRAM}}}
    (write,) = writes(planned(Host("docker", "26.1.5", {DAEMON: '{"features": {"buildkit": true}}'}), runtime={"access": "cdi"}))
    assert json.loads(write.content)["features"] == {"buildkit": True, "cdi": True}
    assert not writes(planned(Host("docker", "28.5.2", {}), runtime={"access": "cdi"}))  # it has CDI on without a word


@pytest.mark.parametrize("text", ["{", "[]", '{"runtimes": []}', '{"features": {"cdi": "yes"}}'])
def test_a_daemon_json_that_docker_refuses_is_left_alone(text):
    portion = planned(Host("docker", "26.1.5", {DAEMON: text}))
    assert [one.id for one in portion.refusals] == ["plan.runtime-rejected"]


def test_a_flag_of_dockerd_is_not_repeated_in_the_file():
    flagged = Host("docker", "26.1.5", {}, units=(unit("docker", text="[Service]\nExecStart=/usr/bin/dockerd --default-runtime=runc\n"),))
    assert [one.id for one in planned(flagged, runtime={"default_runtime": "nvidia"}).refusals] == ["plan.runtime-drop-in"]


def test_crio_gets_a_drop_in_where_it_reads_one_with_what_its_usual_entry_says_of_the_monitor():
    text = '[crio.runtime]\ndefault_runtime = "crun"\n[crio.runtime.runtimes.crun]\nruntime_path = "/usr/libexec/crio/crun"\nmonitor_path = "/usr/libexec/crio/conmon"\n'
    before = Host("crio", "1.33.1", {"/etc/crio/crio.conf.d/10-crio.conf": text})
    step = only(planned(before), "runtime.crio.config")
    (write,) = (one for one in step.do if not isinstance(one, Run))
    assert write.path.startswith("/etc/crio/crio.conf.d/")
    found = parse_toml(write.content.encode())["crio"]["runtime"]["runtimes"]["nvidia"]
    assert found == {"runtime_path": PROGRAM, "runtime_type": "oci", "monitor_path": "/usr/libexec/crio/conmon"}
    assert step.probe.done(before.laid(step.do).view())


K3S = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
NEWER = 2_000_000_000.0


def k3s(**fields):
    there = {"/var/lib/rancher/k3s/data/current/bin/containerd": "", "/usr/local/bin/k3s": ""}
    return Host("k3s", "2.1.4", {K3S: V3}, running=NEWER, units=(unit("k3s-agent", active=True),), programs=there, **fields)


def test_k3s_is_restarted_and_nothing_is_written():
    view = k3s().view()
    found = next(one for one in view.runtimes if one.key in ("containerd", "k3s"))
    one = replace(found, key="k3s", running=True, started_at=NEWER, in_use=True, version="2.1.4")
    portion = planned(k3s(), runtimes=(one,))
    step = only(portion, "runtime.restart-k3s")
    assert not writes(portion)
    assert step.do == (Run(("systemctl", "restart", "k3s-agent"), timeout_s=300),)
    assert not step.probe.done(replace(view, runtimes=(one,)))


def running(key="containerd", version="1.7.24", files=None, **facts):
    """The host, and the facts of it with this runtime running since long before its configuration changed."""
    one = Host(key, version, files or {}, units=(unit(key, active=True),))
    found = replace(runtime(one), running=True, started_at=1.0, newest_config_mtime=0.0)
    view = one.view()
    installation = replace(view.installation, **{name: value for name, value in facts.items() if name in ("containers", "live_restore")})
    return one, {"runtimes": (found,), "installation": installation}


def test_a_running_runtime_is_restarted_after_its_configuration_and_proved_by_its_start():
    one, facts = running(files={MAIN: V2})
    portion = planned(one, **facts)
    assert ids(portion) == ["runtime.containerd.config", "runtime.restart-containerd"]
    step = portion.steps[1]
    after = runtime(one.laid(portion.steps[0].do))
    for started, done in ((1.0, False), (NEWER, True)):
        late = replace(after, running=True, started_at=started, newest_config_mtime=100.0)
        assert step.probe.done(replace(one.view(), runtimes=(late,))) is done
    assert step.restarts == ("containerd.service",)
    stopped = replace(facts["runtimes"][0], running=False)
    assert ids(planned(one, **{**facts, "runtimes": (stopped,)})) == ["runtime.containerd.config"]


def test_docker_restarts_with_live_restore_or_without_containers_else_the_plan_refuses_unless_it_is_allowed():
    def steps(**fields):
        one, facts = running("docker", "26.1.5", **fields)
        portion = planned(one, **facts)
        return ids(portion), [one.id for one in portion.refusals]

    both = ["runtime.docker.config", "runtime.restart-docker"]
    assert steps(containers=0, live_restore=False) == (both, [])
    assert steps(containers=3, live_restore=True) == (both, [])
    assert steps(containers=3, live_restore=False)[1] == ["plan.runtime-restart"]
    with pytest.raises(UnreadError):
        steps(containers=Unread("denied", "/var/lib/docker"), live_restore=False)
    one, facts = running("docker", "26.1.5", containers=3, live_restore=False)
    assert ids(planned(one, **facts, install={"restart": "always"})) == both
    assert ids(planned(one, **facts, install={"restart": "never"})) == both[:1]


def test_a_restart_that_a_run_left_undone_is_still_due():
    one, facts = running(files={MAIN: V2})
    after = one.laid(planned(one, **facts).steps[0].do)
    late = replace(runtime(after), running=True, started_at=1.0, newest_config_mtime=100.0)
    assert ids(planned(after, AS_IT_IS, runtimes=(late,))) == ["runtime.restart-containerd"]
    assert ids(planned(after, AS_IT_IS, runtimes=(replace(late, started_at=NEWER),))) == []


REFRESH = "/etc/systemd/system/nvidia-cdi-refresh.service"
UNIT_TEXT = "[Unit]\nDescription=Refresh\nAfter=multi-user.target\n\n[Service]\nType=oneshot\n"


def test_the_refresh_leaves_its_ordering_cycle_only_where_a_unit_waits_for_it():
    quiet = Host(version="2.1.4", files={MAIN: V3}, image=True)
    assert "runtime.cdi-order" not in ids(planned(quiet))
    waiting = unit("docker", text="[Unit]\nAfter=network.target nvidia-cdi-refresh.service\n")
    bitten = Host(version="2.1.4", files={MAIN: V3}, image=True, units=(waiting,))
    step = only(planned(bitten), "runtime.cdi-order")
    assert [one.argv[0] for one in step.do] == ["sed"]  # the file comes with the packages of this plan
    newer = Choices(DriverChoice(wanted=False), ToolkitChoice(True, "1.19.1"))
    assert "runtime.cdi-order" not in ids(planned(bitten, newer))


def test_of_a_toolkit_that_is_there_the_unit_is_written_without_the_line():
    one = Host(files={MAIN: V3, REFRESH: UNIT_TEXT})
    cycle = replace(made_view().cdi, refresh_cycles=("docker.service",), refresh_after_target=True)
    (write,) = only(planned(one, AS_IT_IS, cdi=cycle), "runtime.cdi-order").do
    assert write.content == UNIT_TEXT.replace("After=", "# hostagent: After=")


def test_the_program_that_changes_the_unit_and_the_one_that_changes_it_back_are_inverse(tmp_path):
    waiting = unit("docker", text="[Unit]\nAfter=nvidia-cdi-refresh.service\n")
    step = only(planned(Host(files={MAIN: V3}, image=True, units=(waiting,))), "runtime.cdi-order")
    file = tmp_path / "unit"
    file.write_text(UNIT_TEXT)
    for (run,), text in ((step.do, UNIT_TEXT.replace("After=", "# hostagent: After=")), (step.undo.do, UNIT_TEXT)):
        subprocess.run([*run.argv[:-1], str(file)], check=True)
        assert file.read_text() == text


def test_from_nothing_the_same_steps_are_planned_twice_and_no_two_have_one_id():
    first, second = (planned(Host(files={MAIN: V3}), FROM_NOTHING) for _ in range(2))
    assert ids(first) == ids(second)
    assert len(ids(first)) == len(set(ids(first)))
