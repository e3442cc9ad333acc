"""The NVIDIA Container Toolkit's own nvidia-ctk judges our reading of CDI specifications: the CDI library is inside it.

Simulated are the library and the GPUs (tests/stub_nvml, and a few more entry points below); real are the generator and the reader.
"""

import json
import os
import re
import subprocess

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.runtime.read_cdi import read_cdi
from hostagent.testing import host
from tests import stub_nvml
from tests.real.conftest import need_real

HOW = "bash tests/real/install_nvidia_ctk.sh"
#: What the generator asks of NVML beyond what pynvml asks for us.
MORE_NVML = r"""
#include <string.h>
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length);
int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count) { *count = 0; return 0; }
int nvmlDeviceGetHandleByUUID(const char *wanted, void **device)
{
    unsigned count = 0;
    char uuid[96];
    nvmlDeviceGetCount_v2(&count);
    for (unsigned index = 0; index < count; index++)
        if (!nvmlDeviceGetHandleByIndex_v2(index, device) && !nvmlDeviceGetUUID(*device, uuid, sizeof uuid) && !strcmp(uuid, wanted))
            return 0;
    return 6;
}
"""


def device(name, **edits):
    return {"name": name, "containerEdits": edits or {"deviceNodes": [{"path": "/dev/null"}]}}


def spec(*devices, kind="nvidia.com/gpu", version="0.5.0", **more):
    rows = [one if isinstance(one, dict) else device(one) for one in devices]
    return json.dumps({"cdiVersion": version, "kind": kind, "devices": rows, **more})


MOUNT = {"hostPath": "/x", "containerPath": "/x"}
#: Directories of specifications, static before dynamic.
CORPUS = {
    "one file": {"etc/a.json": spec("0", "all")},
    "as yaml": {"etc/a.yaml": "---\ncdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: '0'\n  containerEdits: {env: [A=1]}\n"},
    "a number for a name": {"etc/a.yaml": "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: 0\n  containerEdits: {env: [A=1]}\n"},
    "aliases": {"etc/a.yaml": "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- {name: a, containerEdits: &e {env: [A=1]}}\n- {name: b, containerEdits: *e}\n"},
    "a later directory": {"etc/a.json": spec("0", "9"), "run/b.json": spec("0")},
    "a conflict": {"etc/a.json": spec("0", "1"), "etc/b.json": spec("0", "2")},
    "a conflict below a later directory": {"etc/a.json": spec("0"), "etc/b.json": spec("0"), "run/c.json": spec("0", "1")},
    "a conflict in the later directory": {"etc/a.json": spec("0"), "run/b.json": spec("0"), "run/c.json": spec("0")},
    "two kinds of one name": {"etc/a.json": spec("0"), "etc/b.json": spec("0", kind="k8s.device-plugin.nvidia.com/gpu", version="0.6.0")},
    "another file name": {"etc/a.yml": spec("0"), "etc/b.txt": spec("1"), "etc/c.json": spec("2")},
    "cut off": {"etc/a.json": spec("0")[:-9], "run/b.json": spec("1")},
    "empty": {"etc/a.json": "", "run/b.json": spec("1")},
    "no devices": {"etc/a.json": spec(), "run/b.json": spec("1")},
    "a name twice in one file": {"etc/a.json": spec("0", "0")},
    "a device that changes nothing": {"etc/a.json": spec({"name": "0", "containerEdits": {}})},
    "a device without edits": {"etc/a.json": spec({"name": "0"})},
    "a kind without class": {"etc/a.json": spec("0", kind="nvidia.com")},
    "a vendor that starts with a digit": {"etc/a.json": spec("a", kind="1nvidia.com/gpu")},
    "a bad name": {"etc/a.json": spec("a/b")},
    "a name that ends with a dot": {"etc/a.json": spec("ab.")},
    "a version too old for the names": {"etc/a.json": spec("0", version="0.3.0")},
    "an old version for plain names": {"etc/a.json": spec("gpu0", version="0.3.0")},
    "a version that is none": {"etc/a.json": spec("0", version="latest")},
    "no version": {"etc/a.json": json.dumps({"kind": "nvidia.com/gpu", "devices": [device("0")]})},
    "a version with a letter": {"etc/a.json": spec("0", version="v0.5.0")},
    "a hostPath too new": {"etc/a.json": spec(device("a", deviceNodes=[{"path": "/dev/a", "hostPath": "/dev/b"}]), version="0.4.0")},
    "a mount type too new": {"etc/a.json": spec(device("a", mounts=[{**MOUNT, "type": "tmpfs"}]), version="0.3.0")},
    "groups": {"etc/a.json": spec(device("a", additionalGids=[44]), version="0.7.0")},
    "groups too new": {"etc/a.json": spec(device("a", additionalGids=[44]), version="0.6.0")},
    "annotations too new": {"etc/a.json": spec("a", version="0.5.0", annotations={"a": "b"})},
    "a class with a dot": {"etc/a.json": spec("a", kind="nvidia.com/gpu.x", version="0.6.0")},
    "a class with a dot too new": {"etc/a.json": spec("a", kind="nvidia.com/gpu.x", version="0.5.0")},
    "a hook that is none": {"etc/a.json": spec(device("a", hooks=[{"hookName": "later", "path": "/x"}]))},
    "a hook without path": {"etc/a.json": spec(device("a", hooks=[{"hookName": "prestart"}]))},
    "a mount without target": {"etc/a.json": spec(device("a", mounts=[{"hostPath": "/x"}]))},
    "a bad variable": {"etc/a.json": spec("a", containerEdits={"env": ["NOVALUE"]})},
    "devices as a mapping": {"etc/a.json": json.dumps({"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": {"name": "0"}})},
    "a list": {"etc/a.json": "[1, 2] # nvidia"},
    "binary": {"etc/a.json": "nvidia\x00\x01\x02"},
}  # fmt: skip


def listed(directory):
    """Devices that nvidia-ctk resolves, and the files it complains of for themselves."""
    command = [need_real("nvidia-ctk/nvidia-ctk", HOW), "cdi", "list", "--spec-dir", f"{directory}/etc", "--spec-dir", f"{directory}/run"]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    refused = re.findall(rf'msg="{re.escape(str(directory))}/(\S+): \[failed to load', said.stderr)
    return sorted(said.stdout.split()), sorted(refused)


def ours(files):
    roots = {"etc": "/etc/cdi", "run": "/var/run/cdi"}
    tree = {f"{roots[path[:3]]}{path[3:]}": text for path, text in files.items()}
    found = read_cdi(host(tree), lambda _: Unread("absent"))
    refused = [one.path.replace("/var/run/cdi", "run").replace("/etc/cdi", "etc") for one in found.specs if one.error]
    return sorted(found.devices), sorted(refused)


@pytest.mark.parametrize("name", CORPUS)
def test_nvidia_ctk_resolves_the_same_devices_and_refuses_the_same_files(name, tmp_path):
    for folder in ("etc", "run"):
        (tmp_path / folder).mkdir()
    for path, text in CORPUS[name].items():
        (tmp_path / path).write_text(text)
    named = {path: text for path, text in CORPUS[name].items() if "nvidia" in text or not text}
    theirs = listed(tmp_path)
    devices, refused = ours(named)
    assert devices == [one for one in theirs[0] if "nvidia.com/" in one]
    assert refused == [path for path in theirs[1] if "nvidia" in CORPUS[name][path]]


@pytest.mark.skipif(os.geteuid() != 0, reason="device nodes need root")
def test_what_nvidia_ctk_generates_is_read_as_nvidia_ctk_reads_it(tmp_path):
    tree, written = tmp_path / "tree", tmp_path / "etc/nvidia.yaml"
    for folder in ("tree", "etc", "run"):
        (tmp_path / folder).mkdir()
    stub_nvml.install(tree, 8)
    libraries = tree / stub_nvml.LIBRARY_DIRECTORY
    (libraries / f"libcuda.so.{stub_nvml.VERSION}").touch()
    more = tmp_path / "more.so"
    (tmp_path / "more.c").write_text(MORE_NVML)
    subprocess.run([need_real("gcc", "apt-get install gcc"), "-shared", "-fPIC", "-o", more, tmp_path / "more.c"], check=True)
    flags = [f"--driver-root={tree}", f"--dev-root={tree}", "--nvidia-cdi-hook-path=/usr/bin/nvidia-cdi-hook", f"--output={written}"]
    loaded = {**os.environ, "LD_PRELOAD": str(more), "LD_LIBRARY_PATH": str(libraries)}
    subprocess.run([need_real("nvidia-ctk/nvidia-ctk", HOW), "cdi", "generate", *flags], check=True, capture_output=True, env=loaded)

    text = written.read_text()
    (one,) = read_cdi(host({"/etc/cdi/nvidia.yaml": text}), lambda _: Unread("absent")).specs
    assert (one.error, one.kind, one.library_versions) == ("", "nvidia.com/gpu", (stub_nvml.VERSION,))
    assert {"all", *map(str, range(8))} <= set(one.devices)
    assert ours({"etc/nvidia.yaml": text}) == listed(tmp_path)
    assert f"{tree}/dev/nvidia7" in one.missing_paths
