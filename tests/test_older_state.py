"""What hostagent wrote before its modules got other names is read by the hostagent of today: `older/README.md` says how it was made."""

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OLDER = ROOT / "tests/older"
WELL, SICK = (ROOT / f"tests/hosts/{name}/tape.json" for name in ("hgx-h100-ubuntu2404", "hgx-h100-gpu-off-the-bus"))
HEADLINE = "GPU 4 (0000:9d:00.0) has fallen off the PCIe bus"
REASON = f"hostagent: GpuOnBus: {HEADLINE}. Drain the node."
CONDITIONS = ["Ready", "MultiNodeReady", "DriverReady", "ToolkitReady", "TopologyReady", "FabricReady"]
SCRIPT = "setup-nvidia-gpu-host.sh"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="chroot and mount need root")


def agent(*words, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    command = [sys.executable, "-m", "hostagent", *map(str, words)]
    return subprocess.run(command, env={**kept, **environment}, capture_output=True, text=True, timeout=120, check=False)


def modes(folder, directory, file):
    """Git keeps none of those that root's own files have."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(directory if path.is_dir() else file)


def dated(path, age_s):
    """As if it had been written so long ago; everything else stays."""
    data, at = json.loads(path.read_text()), time.time() - age_s
    path.write_text(json.dumps({**data, "observed_at": at, "valid_until": at + 900}))


@pytest.fixture
def folder(tmp_path):
    """The state directory of a daemon and of Slurm's programs."""
    return copied("state", tmp_path)


def copied(name, place):
    shutil.copytree(OLDER / name, place / name)
    modes(place / name, 0o755, 0o600)
    return place / name


# -- the state file


@pytest.mark.parametrize("writer", ["check", "state"])
def test_the_verdict_of_a_state_file_is_there_and_it_is_stale(writer, tmp_path):
    file = copied(writer, tmp_path) / "state.json"
    found = agent("status", "--json", "--state-file", file)
    data = json.loads(found.stdout)
    assert (found.returncode, data["placeable"], data["problem"]) == (1, False, "the verdict is from another boot")
    assert data["verdict"] == {"single_node": "not_ready", "multi_node": "not_ready"}
    assert (data["headline"], data["action"], data["coverage"]) == (HEADLINE, "reboot", "full")
    assert {one["id"] for one in data["reasons"] if one["outcome"] == "fail"} >= {"gpu.lost", "gpu.on_bus", "gpu.xid"}
    words = agent("status", "--state-file", file).stdout.splitlines()
    assert words[0].startswith("STALE  the verdict is from another boot: ")
    assert words[1].startswith(f"NOT READY  {HEADLINE}. Drain the node. Reboot the node")


def test_a_state_file_of_this_boot_counts(folder):
    path = folder / "state.json"
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    path.write_text(json.dumps({**json.loads(path.read_text()), "boot_id": boot_id}))
    dated(path, 0)
    words = agent("status", "--state-file", path).stdout
    assert words.startswith(f"NOT READY  {HEADLINE}.")
    assert "conditions of the node: ToolkitReady Unknown (CouldNotRead), FabricReady Unknown (CouldNotRead)" in words
    assert "last change 2026-11-30 13:50:28 UTC: Ready True -> False (GpuOnBus)" in words


# -- the daemon's state directory


def history(folder):
    return json.loads(agent("daemon", "history", "--format", "json", "--history-dir", folder).stdout)


def daemon(folder, host):
    """One pass of today's, which goes on from what is in `folder`; that it says nothing means that it could read all of it."""
    options = ("--node-name", "n1", "--kubernetes", "off", "--listen", "", "--from", host)
    done = agent("daemon", "--once", "--state-dir", folder, *options)
    assert done.stderr == ""
    assert not list(folder.glob("*.damaged"))
    return done.returncode


def test_the_history_of_a_daemon_is_printed(folder):
    found = history(folder)
    turned = [(one["condition"], one["old"], one["new"], one["reason"]) for one in found["transitions"]]
    assert turned[:6] == [(kind, "", "True", "Ready") for kind in CONDITIONS]
    assert turned[6:] == [
        ("Ready", "True", "False", "GpuOnBus"),
        ("MultiNodeReady", "True", "False", "GpuOnBus"),
        ("ToolkitReady", "True", "Unknown", "CouldNotRead"),
        ("FabricReady", "True", "Unknown", "CouldNotRead"),
    ]
    assert [(one["id"], one["pci"], one["end"]) for one in found["faults"]] == [
        (kind, "0000:9d:00.0", 0) for kind in ("gpu.lost", "gpu.on_bus", "gpu.xid")
    ]


def test_a_daemon_of_today_goes_on_where_nothing_has_changed(folder):
    before = {name: (folder / name).read_text() for name in ("record.json", "told.json")}
    remembered = json.loads((folder / "history.json").read_text())
    assert daemon(folder, SICK) == 1
    assert {name: (folder / name).read_text() for name in before} == before
    now = json.loads((folder / "history.json").read_text())
    assert now["history"].pop("now") != remembered["history"].pop("now")
    assert [(fault["xid"].pop("links"), fault["xid"].pop("burst")) for fault in now["history"]["faults"]] == [([], 1), ([], 1)]  # of today
    assert now["history"].pop("kernel_events") == []  # of today, too
    assert now == remembered


def test_a_daemon_of_today_ends_what_the_older_one_has_recorded(folder):
    older = history(folder)["transitions"]
    assert daemon(folder, WELL) == 0
    found = history(folder)
    assert found["transitions"][: len(older)] == older
    turned = [(one["number"], one["condition"], one["old"], one["new"]) for one in found["transitions"][len(older) :]]
    assert turned == [
        (11, "Ready", "False", "True"),
        (12, "MultiNodeReady", "False", "True"),
        (13, "ToolkitReady", "Unknown", "True"),
        (14, "FabricReady", "Unknown", "True"),
    ]
    assert all(one["end"] > one["begin"] for one in found["faults"])
    held = json.loads((folder / "told.json").read_text())["held"]
    assert [one["changed_at"] for one in held if one["type"] == "DriverReady"] == [older[2]["at"]], "it was ready all the time"


def test_the_summary_of_a_node_is_counted(folder):
    def shown():
        return json.loads(agent("fleet", folder / "summary.json", "--json").stdout)

    dated(folder / "summary.json", 86_400)
    assert shown()["counts"]["stale"] == 1
    dated(folder / "summary.json", 0)
    assert (shown()["counts"]["stale"], shown()["counts"]["not_ready"]) == (0, 1)
    assert shown()["nodes"][0]["node"] == "n1"
    assert {one["headline"] for one in shown()["causes"]} >= {HEADLINE}


# -- what Slurm's programs keep


@pytest.fixture
def spool(folder):
    """Without the daemon's verdict, whose age would matter."""
    (folder / "state.json").unlink()
    return folder


def slurm(spool, program, host, *options, reason="", job=""):
    """A script stands in for scontrol: the node is drained for `reason`."""
    scontrol = spool.parent / "scontrol"
    scontrol.write_text(f'#!/bin/sh\n[ "$1" = show ] && exec echo "NodeName=n1 State=IDLE+DRAIN Partitions=gpu Reason={reason}"\nexit 0\n')
    scontrol.chmod(0o755)
    where = ("--node", "n1", "--state-dir", spool, "--bin-dir", spool.parent, "--from", host)
    return agent("slurm", program, *where, *options, **({"SLURM_JOB_ID": job} if job else {}))


def stamp(at):
    return f"[root@{datetime.fromtimestamp(at, timezone.utc):%Y-%m-%dT%H:%M:%S}]"


def test_a_drain_that_our_prolog_has_caused_is_known_and_taken_back(spool):
    (marker,) = json.loads((spool / "slurm/n1.refused.json").read_text())
    assert (marker["program"], marker["reason"]) == ("prolog", REASON)
    done = slurm(spool, "health", WELL, "--dry-run", reason=f"Prolog error {stamp(marker['at'])}")
    assert "our reason 'Prolog error' of root" in done.stdout
    assert "it is placeable: resume: would write State=RESUME" in done.stdout


def test_the_reason_that_was_written_last_is_known(spool):
    done = slurm(spool, "health", SICK, "--dry-run", reason=f"hostagent: seen by bob {stamp(time.time())}")
    assert "it is not ready, and its reason was edited since" in done.stdout


def test_a_verdict_for_the_prolog_counts_while_it_is_fresh(spool):
    dated(spool / "slurm/verdict.json", 86_400)
    refused = slurm(spool, "prolog", SICK, "--dry-run", job="79")
    assert "would refuse a job of scope single on n1" in refused.stdout, "a stale one is none: the host is looked at"
    dated(spool / "slurm/verdict.json", 0)
    let_in = slurm(spool, "prolog", SICK, "--dry-run", job="79")
    assert "would let in a job of scope single on n1" in let_in.stdout


def test_a_fault_in_the_time_of_a_job_that_began_before_is_the_hosts(spool):
    assert slurm(spool, "epilog", WELL, "--dry-run", job="77").stdout.startswith("would ")
    done = slurm(spool, "epilog", WELL, job="77")
    assert done.returncode == 1
    assert "job 77: the host failed it: GpuLost: NVML cannot reach GPU 4 (0000:9d:00.0): GPU is lost. Drain the node." in done.stderr


# -- runs of an installation


@pytest.fixture
def host(tmp_path):
    """``host("killed")``: the root as that run left it, with the programs that a run needs."""

    def made(name):
        root = tmp_path / "root"
        shutil.copytree(OLDER / "installation" / name, root)
        modes(root, 0o755, 0o644)
        modes(root / "var/lib/hostagent", 0o700, 0o600)
        (root / "etc/made/one.conf").chmod(0o640)
        for path in ("usr/bin", "usr/sbin", "proc", "sys", "dev", "run", "tmp"):
            (root / path).mkdir(parents=True)
        (root / "bin").symlink_to("usr/bin")
        for program in ("sh", "touch", "sleep"):
            _copy(f"/usr/bin/{program}", root)
        for program in ("dpkg", "ldconfig"):
            (root / "usr/sbin" / program).write_text("#!/usr/bin/sh\n")
            (root / "usr/sbin" / program).chmod(0o755)
        return root

    return made


def _copy(program, root):
    """With the libraries that it needs."""
    shutil.copy(program, f"{root}{program}")
    for library in re.findall(r"/\S+", subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout):
        (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, f"{root}{library}")


def listed(root):
    return " ".join(agent("rollback", "--list", "--root", root).stdout.split())


def taken_back(root):
    done = agent("rollback", "--yes", "--root", root)
    assert done.returncode == 0, done.stdout + done.stderr
    changed = root / "etc/made/one.conf"
    assert (changed.read_text(), stat.S_IMODE(changed.stat().st_mode)) == ("value = 1\n", 0o644)


def test_a_run_that_ended_is_listed(host):
    assert listed(host("finished")) == "Run 1, 2026-11-30 13:50:29 UTC: done changed 1 file; the next rollback takes it back"


def test_a_run_that_was_killed_is_listed_as_one_that_did_not_end(host):
    assert listed(host("killed")) == (
        "Run 1, 2026-11-30 13:50:29 UTC: taken back changed 1 file "
        "Run 2, 2026-11-30 13:50:34 UTC: did not end changed 1 file; the next rollback takes it back"
    )


@as_root
@pytest.mark.parametrize(("name", "number"), [("finished", 1), ("killed", 2)])
def test_a_run_is_taken_back(host, name, number):
    root = host(name)
    planned = agent("rollback", "--dry-run", "--root", root).stdout
    assert planned == f"Run {number} would be taken back:\n  /etc/made/one.conf as before\n"
    taken_back(root)
    assert f"Run {number}, " in listed(root)
    assert "did not end" not in listed(root)
    assert "next rollback" not in listed(root)


@as_root
def test_a_run_that_was_killed_is_continued_and_then_taken_back(host):
    root = host("killed")
    done = subprocess.run(
        [sys.executable, ROOT / "tests/real/engine_inside.py", root, "30"], capture_output=True, text=True, timeout=120, check=False
    )
    assert json.loads(done.stdout) == {"word": "done", "code": 0, "message": "", "run": 2}, done.stderr
    assert done.stderr == "1/1 repositories.repair\n", "the first step was done"
    assert (root / "var/made").exists()
    assert "Run 2, 2026-11-30 13:50:34 UTC: done changed 1 file" in listed(root)
    taken_back(root)


# -- a script in the place of TAO's


@pytest.fixture
def bank(tmp_path):
    shutil.copytree(OLDER / "bank", tmp_path / "bank")
    for path in list((tmp_path / "bank").rglob("*.before")):
        path.rename(path.with_suffix(".orig"))
    return tmp_path / "bank"


def test_a_script_in_the_place_of_taos_is_known_and_taken_away(bank):
    done = agent("setup", "--remove-shim", bank)
    assert (done.returncode, len(done.stdout.splitlines()), done.stderr) == (0, 3, "")
    (back,) = (path for path in bank.rglob("*") if path.is_file())
    assert (back.name, back.read_text()) == (SCRIPT, "#!/bin/bash\necho the script before\n")


@pytest.mark.parametrize("path", sorted(str(path.relative_to(OLDER)) for path in OLDER.rglob(SCRIPT)))
def test_a_script_in_the_place_of_taos_starts_the_hostagent_of_today(path, tmp_path):
    """By the modules that it names: they keep their names."""
    text = (OLDER / path).read_text()
    words = shlex.split(text[text.index("words=(") + len("words=(") : text.index(")\ngone=")])
    done = subprocess.run([sys.executable, *words[1:], "--version"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.startswith("hostagent"), done.stderr) == (0, True, "")
