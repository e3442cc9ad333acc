"""containerd 1.6, 1.7 and 2.x judge our view of their configuration.

The judge is ``containerd config dump`` of each version: accepted or refused, and the effective values. It accepts three
things that the daemon then refuses by not loading its CRI plugin (a default runtime that is empty, that does not exist, or
the old systemd_cgroup); for these, and for whether CRI is there at all, the judge is the daemon itself, started once for
each configuration where the test runs as root.
"""

import functools
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hostagent.core.toml import parse_toml
from hostagent.core.unread import Unread
from hostagent.domains.runtime.read_containerd import effective
from hostagent.testing import host
from tests.real.conftest import need_real

CORPUS = Path(__file__).parent / "containerd_corpus"
NAMES = sorted(path.stem for path in CORPUS.iterdir())
VERSIONS = ("1.6", "1.7", "2.1", "2.3")
SECOND = ("2.1", "2.3")
HOW = "tests/real/install_containerd.sh"
OLD, NEW = "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"


@functools.cache
def version_of(line):
    words = subprocess.run([program(line), "--version"], capture_output=True, text=True, check=True).stdout.split()
    return words[2].partition("~")[0]


def program(line):
    return need_real(f"containerd-{line}/containerd", HOW)


@pytest.fixture
def tree(tmp_path):
    """Writes files below a directory of this test that stands for /etc/containerd."""

    def write(files):
        shutil.rmtree(tmp_path / "etc", ignore_errors=True)
        for name, text in files.items():
            path = tmp_path / "etc" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(text, tuple):
                path.symlink_to(text[1])
            else:
                path.write_text(text.replace("/etc/containerd", str(tmp_path / "etc")), newline="")
        return str(tmp_path / "etc" / "config.toml"), as_host(tmp_path / "etc")

    return write


def corpus(name):
    path = CORPUS / name
    if not path.is_dir():
        path = path.with_suffix(".toml")
        return {"config.toml": path.read_bytes().decode()}
    files = [one for one in path.rglob("*") if one.is_symlink() or one.is_file()]
    return {str(one.relative_to(path)): ("link", os.readlink(one)) if one.is_symlink() else one.read_text() for one in files}


def as_host(directory):
    found = {}
    for path in directory.rglob("*"):
        if path.is_symlink():
            found[str(path)] = ("link", str(path.readlink()))
        elif path.is_file():
            found[str(path)] = path.read_bytes()
    return host(found)


def dumped(line, main):
    """What `config dump` says: None when it refuses, else the values that we compare."""
    run = subprocess.run([program(line), "-c", main, "config", "dump"], capture_output=True, cwd="/", timeout=30, check=False)
    if run.returncode:
        return None
    dump = parse_toml(run.stdout)
    plugins = dump["plugins"]
    cri = plugins.get(NEW if line in SECOND else OLD)
    if cri is None or OLD not in plugins or set(dump["disabled_plugins"]) & ({OLD, NEW} if line in SECOND else set()):
        return {"cri": False}  # 2.x prints what a file says of a disabled plugin
    containerd = cri["containerd"]
    runtimes = dict(containerd["runtimes"])
    default = containerd["default_runtime_name"]
    if containerd.get("default_runtime", {}).get("runtime_type"):
        default, runtimes["default"] = "default", containerd["default_runtime"]  # the daemon does this after the dump
    return {
        "cri": True,
        "default": default,
        "handlers": {name: shown(entry) for name, entry in runtimes.items()},
        "cdi": (cri.get("enable_cdi", False), tuple(cri.get("cdi_spec_dirs", ()))),
    }


def shown(entry):
    options = entry.get("options", {})
    return entry.get("runtime_type", ""), options.get("BinaryName", ""), options.get("SystemdCgroup", False)


def ours(line, main, source):
    view = effective(source, main, version_of(line))
    assert not isinstance(view, Unread), repr(view)
    if view.error and not view.error.startswith("invalid plugin config"):
        return None
    if view.cri_disabled:
        return {"cri": False}
    handlers = {name: shown(entry) for name, entry in view.handlers.items()}
    return {"cri": True, "default": view.default_runtime, "handlers": handlers, "cdi": (view.cdi_enabled, view.cdi_spec_dirs)}


@pytest.mark.parametrize("line", VERSIONS)
@pytest.mark.parametrize("name", NAMES)
def test_our_view_is_containerds(name, line, tree):
    main, source = tree(corpus(name))
    assert ours(line, main, source) == dumped(line, main)


def test_the_corpus_is_wide_and_the_versions_disagree_on_it(tree):
    assert len(NAMES) >= 25
    for first, second in (("1.6", "1.7"), ("1.7", "2.1")):
        differ = [name for name in NAMES if (main := tree(corpus(name))[0]) and dumped(first, main) != dumped(second, main)]
        assert len(differ) >= 5, (first, second)


def cri_answers(line, main, directory):
    """Whether the started daemon loads its CRI plugin; None when it does not start."""
    wrapper = directory / "wrapper.toml"
    wrapper.write_text(Path(main).read_text() if Path(main).exists() else "")
    log = directory / "log"
    text = wrapper.read_text()
    top = f'root = "{directory}/root"\nstate = "{directory}/state"\n'
    Path(main).write_text(f'{top}{text}\n[grpc]\naddress = "{directory}/c.sock"\n[ttrpc]\naddress = "{directory}/t.sock"\n')
    with log.open("w") as out:
        process = subprocess.Popen([program(line), "-c", main], stdout=out, stderr=out, cwd="/")
    try:
        end = time.monotonic() + 20
        while process.poll() is None and "successfully booted" not in log.read_text() and time.monotonic() < end:
            time.sleep(0.05)
        booted = process.poll() is None
    finally:
        process.terminate()
        process.wait(10)
    return "Connect containerd service" in log.read_text() if booted else None  # the CRI service says this as it loads


DAEMON = [
    "v2-complete", "v2-nvidia-alone", "v2-empty-default", "v2-old-systemd-cgroup", "v2-old-default-table", "v2-disabled-cri",
    "v3-default-missing", "v3-disabled-runtime", "docker-containerd-io", "no-version-v1-names", "v2-wrong-type-cdi", "empty",
]  # fmt: skip


@pytest.mark.parametrize("line", VERSIONS)
@pytest.mark.parametrize("name", DAEMON)
def test_the_daemon_starts_cri_where_we_say_so(name, line, tree, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("containerd starts only as root")
    main, source = tree(corpus(name))
    view = effective(source, main, version_of(line))
    short = Path(tempfile.mkdtemp(prefix="ctd", dir="/tmp"))  # a socket's path has at most 107 bytes
    try:
        answers = cri_answers(line, main, short)
    finally:
        shutil.rmtree(short, ignore_errors=True)
    if answers is None:
        assert view.error
    else:
        assert answers == (not view.error and not view.cri_disabled)


KEYS = st.sampled_from(("cri", OLD, NEW))
HANDLER = st.fixed_dictionaries(
    {},
    optional={
        "runtime_type": st.sampled_from(("io.containerd.runc.v2", "")),
        "BinaryName": st.sampled_from(("/usr/bin/nvidia-container-runtime", "")),
        "SystemdCgroup": st.booleans(),
    },
)
CRI = st.fixed_dictionaries(
    {"handlers": st.dictionaries(st.sampled_from(("runc", "nvidia", "nvidia-cdi")), HANDLER)},
    optional={"default_runtime_name": st.sampled_from(("runc", "nvidia")), "enable_cdi": st.booleans()},
)
FILE = st.fixed_dictionaries(
    {"plugins": st.dictionaries(KEYS, CRI, max_size=2)},
    optional={"version": st.sampled_from((1, 2, 2, 2, 3, 3, 4)), "disabled": st.sampled_from(("cri", OLD, NEW, "io.containerd.a.v1.b"))},
)


def rendered(file, *, imports=""):
    lines = [f"version = {file['version']}"] if "version" in file else []
    lines += [f'disabled_plugins = ["{file["disabled"]}"]'] if "disabled" in file else []
    lines += [f'imports = ["{imports}"]'] if imports else []
    for name, cri in file["plugins"].items():
        table = f'plugins."{name}"'
        lines += [f"[{table}]", *settings_of(cri, "enable_cdi"), f"[{table}.containerd]", *settings_of(cri, "default_runtime_name")]
        for handler, entry in cri["handlers"].items():
            here = f"{table}.containerd.runtimes.{handler}"
            lines += [f"[{here}]", *settings_of(entry, "runtime_type"), f"[{here}.options]"]
            lines += settings_of(entry, "BinaryName", "SystemdCgroup")
    return "\n".join(lines) + "\n"


def settings_of(table, *keys):
    return [f"{key} = {json.dumps(table[key])}" for key in keys if key in table]


def drawn_by_lot(file):
    """2.1 renames the first name of a plugin to the second while it walks a Go map: with both in one file it answers now so, now otherwise."""
    return file.get("version", 1) == 1 and {"cri", OLD} <= set(file["plugins"])


@pytest.mark.parametrize("line", VERSIONS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(main=FILE, drop_ins=st.lists(FILE, max_size=2))
def test_our_view_is_containerds_on_generated_files(line, tree, main, drop_ins):
    assume(line not in SECOND or not any(drawn_by_lot(file) for file in (main, *drop_ins)))
    files = {"config.toml": rendered(main, imports="/etc/containerd/conf.d/*.toml")}
    files |= {f"conf.d/{number}.toml": rendered(file) for number, file in enumerate(drop_ins)}
    path, source = tree(files)
    assert ours(line, path, source) == dumped(line, path), files
