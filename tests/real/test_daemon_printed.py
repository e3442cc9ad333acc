"""The unit that a copy prints, under a real systemd: it starts that copy, with the options that it was printed with."""

import json
import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from hostagent.daemon import unit
from tests import copies
from tests.real import installroots
from tests.real.conftest import need_real
from tests.real.daemonrun import eventually
from tests.real.machine import Machine

#: Characters that mean something to systemd, to a shell, or to both.
ODD = "/srv/a $HOME ${HOME} %n ; *"
MORE = "\"b\" 'c' \\t"
STATE = "/run/hostagent"
#: Where the machine has what the copies import of this environment.
OTHERS = "/srv/others"
#: Says what it was started with.
SAYS = '#!/bin/sh\nprintf \'%s\\n\' "$0" "$@" >/run/said\n'
pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="boots a machine: run 'sudo make test'")]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A Debian with a copy of each of two kinds; `copies` are their programs."""
    need_real("mmdebstrap", installroots.HOW)
    with installroots.place() as where, copies.place() as kept:
        root = where / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", installroots.base() / "base", root], check=True)
        (root / "usr/bin/python3").symlink_to(Path(sys.base_prefix, "bin/python3").resolve())
        environment = copies.install("venv", kept, copies.wheel_in(tmp_path_factory.mktemp("wheel")))
        single = copies.single_file(kept)
        for one in kept.rglob("others.pth"):  # this checkout may lie below /tmp, which the unit hides
            one.write_text(f"{OTHERS}\n")
        found = Machine(root, ((kept, str(kept)), (Path(sysconfig.get_path("purelib")), OTHERS)))
        odd = root / ODD.lstrip("/") / "says"
        odd.parent.mkdir(parents=True)
        odd.write_text(SAYS)
        odd.chmod(0o755)
        with found.up():
            found.copies = {"venv": environment, "pyz": single}
            yield found


def test_printed_units_start_their_copies_with_their_options(machine):
    assert started(machine, machine.copies["venv"]) == started(machine, machine.copies["pyz"]), (
        "one lies below /root, which is closed to the processes that have given their rights up"
    )
    cache = machine.inside("/var/cache/hostagent")
    closed = ["find", f"{cache}/", "-not", "-type", "l", "-not", "-perm", "-a=r"]
    assert subprocess.run(closed, capture_output=True, text=True, check=True).stdout == "", "and this is read by them"


def started(machine, copy):
    """What the daemon of this copy judges."""
    program, unit = str(copy), "/etc/systemd/system/hostagent.service"
    wanted = ["--node-name", f"node-of-{copy.name}", "--textfile", "/srv/node exporter/hostagent.prom", "--listen", "127.0.0.1:80"]
    machine.inside("/srv/node exporter").mkdir(exist_ok=True)
    machine.inside(wanted[3]).unlink(missing_ok=True)
    machine.run("sh", "-c", f"{shlex.join([program, 'daemon', '--print-unit', *wanted])} >{unit}")
    done = machine.run("systemd-analyze", "verify", unit)
    assert done.stdout + done.stderr == ""
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "start", "hostagent")
    assert machine.shown("hostagent", "ActiveState") == "active"
    command = machine.process(int(machine.shown("hostagent", "MainPID"))).cmdline()
    assert command[command.index(program) :] == [program, "daemon", "--kubernetes", "off", *wanted[:2], *wanted[4:], *wanted[2:4]]
    eventually(machine.inside(wanted[3]).exists)
    report = json.loads(machine.inside(f"{STATE}/report.json").read_text())
    assert report["host"]["node_name"] == wanted[1]
    machine.run("systemctl", "stop", "hostagent")
    assert [machine.shown("hostagent", name) for name in ("Result", "ExecMainStatus")] == ["success", "0"]
    return {(one["id"], one["subject"]): (one["outcome"], one["code"]) for one in report["findings"]}


def test_odd_characters_arrive_as_they_are(machine):
    start = next(line for line in unit.unit(f"{ODD}/says", [ODD, MORE, "", "--x"]).splitlines() if line.startswith("ExecStart="))
    machine.unit("says.service", f"[Service]\nType=oneshot\n{start}\n")
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "start", "says")
    assert machine.inside("/run/said").read_text().split("\n") == [f"{ODD}/says", "daemon", ODD, MORE, "", "--x", ""]
