"""slurm.conf, gres.conf and host lists as Slurm itself reads them, and as hostagent does. No daemon runs: `scontrol` takes host lists apart,
`slurmd -G` prints what a node gets of gres.conf. Device files are links to /dev/null.
"""

import random
import re
import subprocess

import pytest

from hostagent.core.answers import Stat
from hostagent.domains.slurm.conf import hosts, in_hostlist
from hostagent.engine.collect import collect
from hostagent.facts.slurm import SlurmNode
from hostagent.testing import host
from tests.real.conftest import need_real
from tests.real.slurmrun import HOW

_CONF = """ClusterName=files
SlurmctldHost=localhost(127.0.0.1)
AuthType=auth/none
CredType=cred/none
SlurmdSpoolDir={home}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
GresTypes=gpu
SlurmdParameters=config_overrides
NodeName=n[1-2] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[16901-16902] Gres=gpu:t4:4
PartitionName=all Nodes=ALL
"""
_PIECES = ("n", "r", "[1-4]", "[01-03]", "[1,3-5]", "[8-11]", "-ib", ",", "[007-010,2]", "x1", "login")
_DEVICE = Stat("char", 0o666, 0, 0, 0, 0.0, 1, 3)._asdict()


@pytest.fixture
def home(tmp_path):
    for program in ("/usr/bin/scontrol", "/usr/sbin/slurmd"):
        need_real(program, HOW)
    (tmp_path / "slurm.conf").write_text(_CONF.format(home=tmp_path))
    for number in range(4):
        (tmp_path / f"nvidia{number}").symlink_to("/dev/null")
    return tmp_path


def said(home, *argv):
    """Exit code and all that it prints."""
    environment = {"SLURM_CONF": f"{home}/slurm.conf", "PATH": "/usr/bin"}
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=15, env=environment, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def test_a_host_list_has_the_names_that_scontrol_makes_of_it(home):
    chance, compared = random.Random(7), 0
    while compared < 40:
        text = "".join(chance.choice(_PIECES) for _ in range(chance.randint(1, 6))).strip(",")
        if not text or text.startswith("["):
            continue
        code, names = said(home, "/usr/bin/scontrol", "show", "hostnames", text)
        if code or "Invalid hostlist" in names:
            continue
        compared += 1
        assert set(hosts(text)) == set(names.split()), text
        assert all(in_hostlist(name, text) for name in names.split())


def gpus(home, text):
    """Files of n1's GPUs, by slurmd and by us; the exit code of slurmd."""
    (home / "gres.conf").write_text(text)
    code, printed = said(home, "/usr/sbin/slurmd", "-G", "-N", "n1")
    theirs = [path for one in re.findall(r"Name=gpu .*File=(\S+)", printed, re.IGNORECASE) for path in hosts(one)]
    files = {"/etc/slurm/slurm.conf": b"", "/etc/slurm/gres.conf": text.encode()}
    files |= {f"stat {home}/nvidia{number}": _DEVICE for number in range(4)}
    running = {"pid": 7, "name": "slurmd", "argv": ["slurmd"], "started_at": 1.0, "unit": "slurmd.service"}
    found = collect(host({**files, "processes": [running], "host": {"hostname": "n1"}}), ["SlurmNode"])[0].of(SlurmNode)
    return theirs, [path for one in found.gres if one.name == "gpu" for path in one.files], code


@pytest.mark.parametrize(
    "text",
    [
        "NodeName=n[1-3] Name=gpu Type=t4 File={home}/nvidia[0-3]\n",
        "NodeName=n[2-3] Name=gpu Type=t4 File={home}/nvidia[0-3]\n",
        "# all\nname=GPU type=t4 \\\n  FILE={home}/nvidia[0-1],{home}/nvidia3  # three\n",
        "NodeName=n1 Name=gpu Type=t4 MultipleFiles={home}/nvidia0,{home}/nvidia1\n",
        "NodeName=n1 Name=gpu Type=t4 File={home}/nvidia0\nNodeName=n2 Name=gpu Type=t4 File={home}/nvidia[0-3]\n",
        "Name=gpu Type=t4 Count=3\n",
    ],
)
def test_a_node_has_the_gpus_of_gres_conf_that_slurmd_prints(text, home):
    theirs, ours, code = gpus(home, text.format(home=home))
    assert (code, sorted(ours)) == (0, sorted(theirs))


def test_slurmd_ends_where_a_line_has_another_count_than_files(home):
    (home / "gres.conf").write_text(f"Name=gpu Type=t4 File={home}/nvidia0 Count=4\n")
    code, printed = said(home, "/usr/sbin/slurmd", "-G", "-N", "n1")
    assert (code, "count does not match File value" in printed) == (1, True)
