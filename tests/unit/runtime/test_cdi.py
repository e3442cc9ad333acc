"""CDI specifications from a dictionary as a host."""

import json
from contextlib import suppress
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.runtime.cdi_spec import CdiError, parse_spec
from hostagent.domains.runtime.read_cdi import parse_show, read_cdi
from hostagent.domains.runtime.tables.cdi_versions import FIRST_RUNTIME, first_runtime
from hostagent.facts.host import Services, Unit
from hostagent.facts.runtime import Runtime
from hostagent.testing import host

LIB = "/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.03"
GENERATED = f"""---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
- name: all
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
containerEdits:
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  deviceNodes:
  - path: /dev/nvidiactl
  - path: /dev/nvidia-uvm
    major: 511
  hooks:
  - hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
    args: [nvidia-cdi-hook, update-ldcache]
  mounts:
  - hostPath: {LIB}
    containerPath: {LIB}
    options: [ro, nosuid, nodev, bind]
"""
HOST = {"/dev/nvidia0": "", "/dev/nvidiactl": "", "/dev/nvidia-uvm": "", "/usr/bin/nvidia-cdi-hook": "", LIB: ""}
RUN = ("link", "/run")


def services(text=None):
    unit = Unit("nvidia-cdi-refresh", text is not None, "enabled", True, False, False, text)
    return Services((unit,))


def read(files, *, units=None, runtimes=(), kind="live"):
    facts = {Services: units or services(), Runtime: runtimes}
    return read_cdi(host({"/var/run": RUN, **files}, kind), facts.__getitem__)


def spec(*names, kind="nvidia.com/gpu", version="0.5.0", **more):
    devices = [{"name": name, "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}]}} for name in names]
    return {"cdiVersion": version, "kind": kind, "devices": devices, **more}


def parsed(data):
    return parse_spec(json.dumps(data).encode())


def test_a_generated_specification_is_read_whole():
    found = read({**HOST, "/run/cdi/nvidia.yaml": GENERATED})
    (one,) = found.specs
    assert (one.path, one.error, one.cdi_version, one.kind) == ("/var/run/cdi/nvidia.yaml", "", "0.5.0", "nvidia.com/gpu")
    assert (one.devices, one.library_versions, one.missing_paths, one.uvm_majors) == (("0", "all"), ("580.159.03",), (), (511,))
    assert (found.devices, found.duplicates, found.generated) == (("nvidia.com/gpu=0", "nvidia.com/gpu=all"), (), True)


def test_what_the_host_lacks_is_named():
    files = {key: value for key, value in HOST.items() if key != LIB}
    assert read({**files, "/run/cdi/nvidia.yaml": GENERATED}).specs[0].missing_paths == (LIB,)


def test_a_path_that_cannot_be_looked_at_is_not_missing_and_not_there():
    files = {**HOST, f"stat {LIB}": Unread("denied", "stat"), "/run/cdi/nvidia.yaml": GENERATED}
    assert read(files).specs[0].missing_paths == Unread("denied", "stat")


def test_a_later_directory_hides_an_earlier_one():
    files = {"/etc/cdi/a.json": json.dumps(spec("0", "9")), "/run/cdi/b.json": json.dumps(spec("0"))}
    found = read(files)
    assert (found.devices, found.duplicates) == (("nvidia.com/gpu=0", "nvidia.com/gpu=9"), ())


def test_two_files_of_one_directory_take_each_others_devices_away_even_from_a_later_one():
    same = json.dumps(spec("0"))
    found = read({"/etc/cdi/a.json": same, "/etc/cdi/b.json": same, "/run/cdi/c.json": json.dumps(spec("0", "1"))})
    assert found.devices == ("nvidia.com/gpu=1",)
    assert found.duplicates == ("nvidia.com/gpu=0 in /etc/cdi/a.json and /etc/cdi/b.json",)


def test_one_directory_under_two_names_is_read_once():
    dirs = {field.name: Unread("absent") for field in fields(Runtime)} | {"cdi_spec_dirs": ("/etc/cdi", "/run/cdi", "/opt/cdi")}
    runtime = Runtime(**dirs)
    files = {"/run/cdi/b.json": json.dumps(spec("0")), "/opt/cdi/c.json": json.dumps(spec("5"))}
    assert [one.path for one in read(files, runtimes=(runtime,)).specs] == ["/var/run/cdi/b.json", "/opt/cdi/c.json"]


def test_other_vendors_and_other_file_names_are_left_alone():
    files = {
        "/etc/cdi/net.json": json.dumps(spec("a", kind="example.com/net")),
        "/etc/cdi/broken.json": "{",
        "/etc/cdi/nvidia.yml": GENERATED,
        "/etc/cdi/README": "nvidia",
    }
    assert read(files).specs == ()


def test_a_broken_file_that_speaks_of_nvidia_is_named():
    (one,) = read({"/etc/cdi/gpus.yaml": GENERATED[:80]}).specs
    assert one.error


@pytest.mark.parametrize(
    "files",
    [
        {f"/etc/cdi/{number}.json": "{}" for number in range(1001)},
        {f"/etc/cdi/{number}.json": json.dumps(spec("a", kind="example.com/net", padding="a" * 100_000)) for number in range(40)},
    ],
)
def test_a_flood_of_files_costs_the_specifications_alone(files):
    found = read({**files, "/proc/1/mounts": "tmpfs /etc/cdi tmpfs rw 0 0\n"}, units=services("[Unit]\n"))
    assert (found.specs.why, found.devices.why) == ("error", "error")
    assert (found.etc_is_volatile, found.refresh_enabled, found.refresh_cycles) == (True, True, ())


def test_a_specification_of_very_many_paths_costs_what_is_asked_of_them():
    nodes = [{"path": f"/dev/x{number}"} for number in range(6000)]
    found = read({"/etc/cdi/a.json": json.dumps(spec("0", containerEdits={"deviceNodes": nodes}))})
    assert (found.devices, found.specs[0].missing_paths.why) == (("nvidia.com/gpu=0",), "error")


def test_a_directory_that_may_not_be_listed_leaves_all_open():
    found = read({"list /etc/cdi": Unread("denied", "/etc/cdi")})
    assert found.specs == found.devices == found.generated == Unread("denied", "/etc/cdi")


def test_an_image_has_only_what_lies_in_etc():
    stopped = Unread("not-running", "an image")
    found = read({"/etc/cdi/a.json": json.dumps(spec("0")), "list /var/run/cdi": stopped, "stat /dev/nvidia0": stopped}, kind="image")
    assert (len(found.specs), found.specs[0].missing_paths, found.generated) == (1, (), stopped)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ([], "wanted dict"),
        ({}, "kind"),
        (spec("0", kind="nvidia"), "vendor/class"),
        (spec(), "no devices"),
        (spec("0", "0"), "twice"),
        (spec("-x"), "device name"),
        (spec("0", version="0.3.0"), "at least 0.5.0"),
        (spec("0", version="new"), "cdiVersion"),
        (spec("0", containerEdits={"env": ["X"]}), "environment"),
        (spec("0", containerEdits={"hooks": [{"hookName": "later", "path": "/x"}]}), "hook"),
        (spec("0", containerEdits={"mounts": [{"hostPath": "/x"}]}), "containerPath"),
        (spec("0", containerEdits={"additionalGids": [44]}), "at least 0.7.0"),
        ({**spec("0"), "devices": [{"name": "0"}]}, "without container edits"),
        ({**spec("0"), "devices": [7]}, "wanted dict"),
    ],
)
def test_what_the_library_refuses_is_refused(data, word):
    with pytest.raises(CdiError, match=word):
        parsed(data)


BOMBS = {
    "brackets": b"[" * 900_000,
    "braces": b"{" * 900_000,
    "dashes": b"- " * 450_000,
    "aliases": b"a: &a [x]\n" + b"".join(b"%c: &%c [%s]\n" % (one, one, b",".join([b"*%c" % (one - 1)] * 9)) for one in range(98, 122)),
    "merges": b"a: &a {x: 1}\n"
    + b"".join(b"%c: &%c {<<: [%s]}\n" % (one, one, b",".join([b"*%c" % (one - 1)] * 9)) for one in range(98, 122)),
    "a circle": b"&a [*a]",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_made_to_cost_is_refused_in_time(name):
    with pytest.raises(CdiError):
        parse_spec(BOMBS[name])


def test_edits_that_all_devices_share_are_looked_at_once():
    edits = b"containerEdits: &e {mounts: [" + b"{hostPath: /x, containerPath: /x}," * 400 + b"], env: [" + b"A=1," * 9000 + b"]}\n"
    devices = b"devices: [" + b"".join(b"{name: a%d, containerEdits: *e}," % one for one in range(15)) + b"]\n"
    found = parse_spec(b"cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n" + edits + devices)
    assert (len(found.devices), found.host_paths) == (15, ("/x",))


@settings(max_examples=200)
@given(st.binary(max_size=200) | st.text(alphabet="cdiVersionkind: nvidia.com/gpu-[]{}&*!<>\"'|\n0123456789", max_size=200).map(str.encode))
def test_any_bytes_are_a_specification_or_a_named_error(data):
    with suppress(CdiError):
        assert parse_spec(data).devices


@given(st.integers(0, len(GENERATED)))
def test_a_specification_that_is_cut_off_is_read_or_refused(length):
    with suppress(CdiError):
        assert parse_spec(GENERATED[:length].encode()).devices


AFTER = "[Unit]\nAfter=multi-user.target\n[Service]\nType=oneshot\n"


def test_the_refresh_unit_of_a_good_toolkit_closes_no_circle():
    found = read({}, units=services("[Unit]\nDescription=x\n"))
    assert (found.refresh_after_target, found.refresh_cycles) == (False, ())


def test_a_unit_that_waits_for_the_late_refresh_through_another_waits_for_itself():
    etc = "/etc/systemd/system"
    wants = {
        f"{etc}/multi-user.target.wants/{name}.service": ("link", f"../{name}.service")
        for name in ("nvidia-cdi-refresh", "docker", "a", "b", "c")
    }
    files = {
        f"{etc}/nvidia-cdi-refresh.service": AFTER,
        f"{etc}/a.service": "[Unit]\nAfter=nvidia-cdi-refresh.service\n",
        f"{etc}/docker.service": "[Unit]\nAfter=network.target a.service\n",
        f"{etc}/b.service": "[Unit]\nDefaultDependencies=no\nAfter=nvidia-cdi-refresh.service\n",
        f"{etc}/c.service": "[Unit]\nAfter=multi-user.target nvidia-cdi-refresh.service\n",
        **wants,
    }
    found = read(files, units=services(AFTER))
    assert (found.refresh_after_target, found.refresh_cycles) == (True, ("a.service", "docker.service"))


def test_systemd_is_asked_for_a_result_only_where_the_file_is_missing():
    question = "run systemctl show -p Result -p ExecMainExitTimestampMonotonic nvidia-cdi-refresh.service"
    said = {"exit_code": 0, "stdout": "Result=exit-code\nExecMainExitTimestampMonotonic=99\n", "stderr": ""}
    assert read({question: said}, units=services("")).refresh_result == "exit-code"
    assert read({question: said, "/run/cdi/nvidia.yaml": GENERATED}, units=services("")).refresh_result == "success"
    assert read({}).refresh_result == Unread("absent", "no nvidia-cdi-refresh.service")
    assert read({question: {**said, "exit_code": 1}}, units=services("")).refresh_result.why == "error"


@given(st.text())
def test_any_answer_of_systemctl_is_a_word(text):
    assert parse_show(text)


def test_each_known_cdi_version_names_its_runtimes():
    assert all(first_runtime(version, kind) == first for version, kinds in FIRST_RUNTIME.items() for kind, first in kinds.items())
    assert first_runtime("0.6.0", "containerd") == first_runtime("1.0.0", "nerdctl") == ""
