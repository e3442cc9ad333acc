"""containerd 1.6, 1.7, 2.1 and 2.3 and dockerd judge what a plan writes into their configuration.

The judge is ``containerd config dump`` of each version before and after: an entry called nvidia is there afterwards, made like runc's, and
everything else that the program prints is as it was. dockerd's is ``--validate``.
"""

import functools
import json
import os
import subprocess

import pytest

from hostagent.core.toml import parse_toml
from tests.real.conftest import need_real
from tests.real.test_containerd import HOW, NAMES, NEW, OLD, VERSIONS, corpus, program, version_of
from tests.runtime_plans import Host, planned, writes

MAIN, PROGRAM = "/etc/containerd/config.toml", "/usr/bin/nvidia-container-runtime"
#: What a plan must refuse in each of them, and why.
REFUSED = {"plan.runtime-rejected", "plan.runtime-cri-off", "plan.runtime-unversioned", "plan.runtime-drop-in"}
#: The rest is written down by hand in corpora of each kind: one of them must come through each version.
CHANGED_AT_LEAST = 8


def lay(folder, files):
    """The files of /etc/containerd below a folder of this test."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, tuple):
            path.symlink_to(text[1])
        else:
            path.write_text(text.replace("/etc/containerd", str(folder)), newline="")


def dump(line, folder):
    """What the program works with, as a table; None where it refuses."""
    argv = [program(line), "-c", str(folder / "config.toml"), "config", "dump"]
    run = subprocess.run(argv, capture_output=True, cwd="/", timeout=60, check=False)
    return None if run.returncode else parse_toml(run.stdout)


def below(table, *keys):
    for key in keys:
        table = table[key]
    return table


def plan_of(line, files, folder, **profile):
    """The plan for a host with these files, whose drop-ins and imports lie below `folder` as the program sees them."""
    texts = {f"/etc/containerd/{name}": text for name, text in files.items()}
    return planned(Host("containerd", version_of(line), texts, image=True), **profile)


@pytest.mark.parametrize("line", VERSIONS)
def test_what_a_plan_writes_merges_to_what_it_means_and_all_else_stays(line, tmp_path):
    changed = []
    cri = NEW if line.startswith("2") else OLD
    for name in NAMES:
        files = corpus(name)
        portion = plan_of(line, files, tmp_path)
        if portion.refusals:
            assert {one.id for one in portion.refusals} <= REFUSED, name
            continue
        if not writes(portion):  # there is an entry already
            continue
        before, after = tmp_path / name / "before", tmp_path / name / "after"
        lay(before, files)
        lay(after, files)
        lay(after, {one.path.removeprefix("/etc/containerd/"): one.content for one in writes(portion)})
        judge(f"{name}, {line}", cri, dump(line, before), moved(dump(line, after), after, before))
        changed.append(name)
    assert len(changed) >= CHANGED_AT_LEAST, changed


def moved(table, old, new):
    """Paths of files as they are elsewhere."""
    return table and json.loads(json.dumps(table).replace(str(old), str(new)))


def judge(name, cri, before, after):
    assert before is not None, f"{name}: the plan changes what the program refuses"
    assert after is not None, f"{name}: the program refuses what the plan wrote"
    entries, old = (below(one, "plugins", cri, "containerd", "runtimes") for one in (after, before))
    nvidia, runc = entries.pop("nvidia"), old.get("runc", {})
    old.pop("nvidia", None)
    assert nvidia["options"]["BinaryName"] == PROGRAM, name
    assert nvidia["runtime_type"] == (runc.get("runtime_type") or "io.containerd.runc.v2"), name
    assert nvidia["options"].get("SystemdCgroup", False) == runc.get("options", {}).get("SystemdCgroup", False), name
    for one, table in ((before, old), (after, entries)):
        one.pop("imports", None)
        if "runc" in table:
            table["runc"] = said(table["runc"])
    assert after == before, name


def said(entry):
    """Without what is empty: 1.x prints each option of the built-in entry, and of one in a file those that it has. 1.7 takes an empty
    sandbox_mode for podsandbox when it starts.
    """
    plain = {key: said(value) if isinstance(value, dict) else value for key, value in entry.items() if value != "podsandbox"}
    return {key: value for key, value in plain.items() if value}


@pytest.mark.parametrize("line", VERSIONS)
@pytest.mark.parametrize("default", ["", "nvidia"])
def test_a_host_without_a_configuration_gets_one_that_adds_the_entry_alone(line, default, tmp_path):
    portion = plan_of(line, {}, tmp_path, runtime={"default_runtime": default})
    lay(tmp_path, {one.path.removeprefix("/etc/containerd/"): one.content for one in writes(portion)})
    containerd = below(dump(line, tmp_path), "plugins", NEW if line.startswith("2") else OLD, "containerd")
    assert containerd["default_runtime_name"] == (default or "runc")
    assert sorted(containerd["runtimes"]) == ["nvidia", "runc"]


@pytest.mark.parametrize("line", ["1.7", "2.1", "2.3"])
def test_cdi_alone_is_turned_on_where_it_is_off(line, tmp_path):
    cri = NEW if line.startswith("2") else OLD
    version = 3 if line.startswith("2") else 2
    files = {
        "config.toml": f'version = {version}\n[plugins."{cri}"]\n  enable_cdi = false\n  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]\n'
    }
    portion = plan_of(line, files, tmp_path, runtime={"access": "cdi"})
    lay(tmp_path, {**files, **{one.path.removeprefix("/etc/containerd/"): one.content for one in writes(portion)}})
    assert below(dump(line, tmp_path), "plugins", cri)["enable_cdi"] is True


@functools.cache
def dockerd():
    return need_real("docker-26/dockerd", HOW)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{}",
        '{"runtimes": {}}',
        '{"features": {"buildkit": true}, "log-driver": "json-file", "log-opts": {"max-size": "10m"}}',
        '{\n\t"exec-opts": ["native.cgroupdriver=systemd"],\n\t"runtimes": {"crun": {"path": "/usr/bin/crun"}}\n}\n',
        '{"runtimes": null, "features": null}',
    ],
)
@pytest.mark.parametrize("profile", [{}, {"default_runtime": "nvidia"}, {"access": "cdi"}])
def test_dockerd_accepts_the_file_and_its_other_settings_are_in_it(text, profile, tmp_path):
    files = {} if text is None else {"/etc/docker/daemon.json": text}
    portion = planned(Host("docker", "26.1.5", files), runtime=profile)
    assert not portion.refusals
    (write,) = writes(portion)
    path = tmp_path / "daemon.json"
    path.write_text(write.content)
    proxy = tmp_path / "docker-proxy"
    proxy.touch(mode=0o755)
    argv = [dockerd(), "--validate", f"--config-file={path}", f"--userland-proxy-path={proxy}"]
    run = subprocess.run(argv, capture_output=True, text=True, env={"PATH": os.defpath, "HOME": str(tmp_path)}, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    said = json.loads(text or "{}")
    kept = {key: value for key, value in said.items() if value and key not in ("runtimes", "features")}
    data = json.loads(write.content)
    assert {key: data[key] for key in kept} == kept
    for key in ("runtimes", "features"):
        assert {**(data.get(key) or {}), **(said.get(key) or {})} == (data.get(key) or {})
