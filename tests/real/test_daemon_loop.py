"""The daemon as a process: one per state directory, through bad profiles and bad recordings, a teller that dies, a driver that hangs."""

import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests

from tests import stub_nvml
from tests.real.daemonrun import Daemon, eventually
from tests.trees import hosts

HOSTS = Path(__file__).parents[1] / "hosts"
HEALTHY, BROKEN = "hgx-h100-roce", "hgx-h100-links-down"
pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="trees of root alone are read: run 'sudo make test'")]


def state(daemon):
    return json.loads((daemon.state / "state.json").read_text())


def ready(daemon):
    return next(one for one in state(daemon)["conditions"] if one["type"] == "Ready")


def not_first(daemon):
    return all(one["reason"] != "FirstPass" for one in state(daemon)["conditions"])


def recording(folder, name):
    """The tape of a host, put in place in one step."""
    new = folder / "new.json"
    shutil.copy(HOSTS / name / "tape.json", new)
    return new.rename(folder / "host.json")


def teller_of(daemon):
    return int(Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text().split()[0])


def once(folder, *options):
    argv = [sys.executable, "-m", "hostagent", "daemon", "--state-dir", folder / "state", "--once", *options]
    return subprocess.run(list(map(str, argv)), capture_output=True, text=True, check=False, timeout=60)


def test_one_pass_over_a_ready_host(tmp_path):
    done = once(tmp_path, "--from", HOSTS / HEALTHY / "tape.json", "--node-name", "n1")
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads((tmp_path / "state" / "summary.json").read_text())
    assert (summary["node"], summary["verdict"]["single_node"]) == ("n1", "ready")
    modes = {one.name: oct(one.stat().st_mode & 0o777) for one in (tmp_path / "state").iterdir()}
    assert modes["report.json"] == "0o600"
    assert modes["state.json"] == modes["summary.json"] == "0o644"


def test_one_pass_over_a_host_that_is_not(tmp_path):
    assert once(tmp_path, "--from", HOSTS / BROKEN / "tape.json").returncode == 1


def test_a_file_of_others_that_cannot_be_written_is_said(tmp_path):
    done = once(tmp_path, "--from", HOSTS / HEALTHY / "tape.json", "--textfile", tmp_path / "none" / "host.prom")
    assert (done.returncode, done.stderr) == (0, f"Warning: {tmp_path}/none/host.prom is not written: no such file or directory\n")


def test_what_is_wrong_with_outlets_is_said_once(tmp_path):
    (tmp_path / "token").write_text(" \n")
    options = ("--nfd-file", tmp_path / "none" / "nfd", "--auth-token-file", tmp_path / "token", "--kubernetes", "off", "--interval", 5)
    with Daemon(tmp_path, "--from", recording(tmp_path, HEALTHY), *options) as daemon:
        eventually(lambda: passes(daemon) >= 2 if daemon.answers("/readyz") else False, 60)
        assert daemon.get("/v1/report").status_code == 403
        said = (
            f"nobody is given the report: the token of {tmp_path}/token (--auth-token-file) cannot be used: found nothing, wanted a token",
            f"{tmp_path}/none/nfd is not written: no such file or directory",
        )
        warnings = [line.partition('message="')[2].rstrip('"') for line in daemon.said().splitlines() if " event=warning " in line]
        assert sorted(warnings) == sorted(said)
        assert daemon.end() == 0


def test_a_simulation_needs_a_place_of_its_own():
    argv = [sys.executable, "-m", "hostagent", "daemon", "--from", str(HOSTS / HEALTHY / "tape.json"), "--once"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--state-dir" in done.stderr


def test_a_dry_run_writes_nothing(tmp_path):
    done = once(tmp_path, "--from", HOSTS / BROKEN / "tape.json", "--dry-run")
    assert done.returncode == 1
    assert "hostagent.dev/Ready" in done.stdout
    assert not (tmp_path / "state").exists()


def test_it_follows_a_recording_that_changes_and_a_second_one_waits(tmp_path):
    tape = recording(tmp_path, HEALTHY)
    with Daemon(tmp_path, "--from", tape, "--interval", 3600, "--kubernetes", "off") as daemon:
        eventually(lambda: daemon.answers("/readyz") and ready(daemon)["status"] == "True", 60)
        assert state(daemon)["measured"] == state(daemon)["verdict"]
        recording(tmp_path, BROKEN)
        eventually(lambda: ready(daemon)["status"] == "False", 20)
        assert abs(state(daemon)["observed_at"] - time.time()) < 60
        eventually(lambda: daemon.get("/v1/summary").json()["verdict"]["single_node"] == "not_ready", 20)  # it hears a moment later
        with Daemon(tmp_path, "--from", tape, "--kubernetes", "off") as second:
            eventually(lambda: second.answers("/livez"), 30)
            assert second.get("/readyz").status_code == 503
            assert "another daemon" in second.get("/readyz?verbose").text
            assert daemon.end() == 0
            eventually(lambda: second.answers("/readyz"), 40)
            assert second.end() == 0


def test_a_restart_goes_on_from_what_was_told(tmp_path):
    tape = recording(tmp_path, BROKEN)
    with Daemon(tmp_path, "--from", tape, "--kubernetes", "off") as daemon:
        eventually(lambda: daemon.answers("/readyz") and not_first(daemon), 60)
        before = state(daemon)["conditions"]
        assert daemon.end() == 0
    with Daemon(tmp_path, "--from", tape, "--kubernetes", "off") as daemon:
        eventually(lambda: daemon.answers("/readyz"), 60)
        assert state(daemon)["conditions"] == before


def test_a_profile_or_a_recording_that_no_longer_loads_costs_nothing(tmp_path):
    tape, profile = recording(tmp_path, HEALTHY), tmp_path / "profile.yaml"
    profile.write_text("schema_version: 1\nname: ours\n")
    with Daemon(tmp_path, "--from", tape, "--profile", profile, "--kubernetes", "off", "--interval", 5) as daemon:
        eventually(lambda: daemon.answers("/readyz"), 60)
        profile.write_text("schema_version: 1\nname: [\n")
        eventually(lambda: "stays in force" in daemon.get("/readyz?verbose").text, 20)
        assert daemon.answers("/readyz")
        profile.write_text("schema_version: 1\nname: ours\n")
        eventually(lambda: "stays in force" not in daemon.get("/readyz?verbose").text, 20)
        tape.write_text("{")
        time.sleep(3)
        assert daemon.process.poll() is None
        recording(tmp_path, BROKEN)
        eventually(lambda: ready(daemon)["status"] == "False", 30)
        assert daemon.end() == 0


def test_a_teller_that_dies_is_replaced(tmp_path):
    with Daemon(tmp_path, "--from", recording(tmp_path, BROKEN), "--kubernetes", "off") as daemon:
        eventually(lambda: daemon.answers("/readyz"), 60)
        before = teller_of(daemon)
        os.kill(before, signal.SIGKILL)
        eventually(lambda: daemon.answers("/readyz"), 30)  # whoever asked meanwhile waited: the socket is the loop's
        assert teller_of(daemon) != before
        assert daemon.end() == 0


def test_who_asks_slowly_holds_up_nobody(tmp_path):
    import socket

    with Daemon(tmp_path, "--from", recording(tmp_path, HEALTHY), "--kubernetes", "off") as daemon:
        eventually(lambda: daemon.answers("/livez"), 60)
        slow = [socket.create_connection(("127.0.0.1", daemon.port)) for _ in range(200)]
        for one in slow:
            one.setblocking(False)
        eventually(lambda: daemon.answers("/livez"), 2)  # amid a flood of one user, the next connection of the same one may be closed
        assert daemon.get("/v1/report").status_code == 403
        assert daemon.get("/nothing").status_code == 404
        for one in slow:
            one.close()
        assert daemon.end() == 0


def test_https_goes_on_while_the_certificate_is_replaced(tmp_path):
    cert, key = tmp_path / "cert", tmp_path / "key"

    def made(name):
        asked = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
        subprocess.run(["openssl", "req", *asked, "-keyout", key, "-out", cert], check=True, capture_output=True)

    def shown(daemon):
        return ssl.get_server_certificate(("127.0.0.1", daemon.port))

    options = ("--from", recording(tmp_path, HEALTHY), "--kubernetes", "off", "--tls-cert", cert, "--tls-key", key)
    with Daemon(tmp_path, *options) as daemon:
        assert daemon.process.wait(60) == 2, "what cannot be used is told at the start"
        assert f"{cert}" in daemon.said()
    made("first")
    with Daemon(tmp_path, *options) as daemon:
        url = f"https://127.0.0.1:{daemon.port}"
        eventually(lambda: is_up(daemon), 60)
        assert requests.get(f"{url}/livez", verify=cert, timeout=10).ok
        first = shown(daemon)
        key.rename(tmp_path / "away")
        assert shown(daemon) == first
        made("second")
        assert shown(daemon) != first
        assert requests.get(f"{url}/v1/report", verify=cert, timeout=10).status_code == 403
        assert daemon.end() == 0


def is_up(daemon):
    try:
        ssl.get_server_certificate(("127.0.0.1", daemon.port))
    except OSError:
        return False
    return True


def test_a_driver_that_hangs_is_told_and_holds_up_nobody(tmp_path):
    """A library that never answers in one call: the pass says so, the probes answer, and no worker is left."""
    tree = tmp_path / "tree"
    hosts.hgx_h100_here(tree)
    table = tree / stub_nvml.TABLE
    table.write_text("Init * hang\nInit_v2 * hang\nDeviceGetCount * hang\n" + table.read_text())
    with Daemon(tmp_path, "--host-root", tree, "--kubernetes", "off", "--interval", 5) as daemon:
        began = time.monotonic()
        eventually(lambda: daemon.answers("/livez"), 20)
        eventually(lambda: (daemon.state / "state.json").exists() and daemon.answers("/readyz"), 60)
        assert ready(daemon)["status"] != "True"
        eventually(lambda: passes(daemon) >= 3, 90)
        assert daemon.answers("/livez")
        eventually(lambda: len(children(daemon)) == 1, 30)
        assert time.monotonic() - began < 150
        assert daemon.end() == 0


def test_probes_are_answered_while_the_first_pass_after_a_restart_hangs(tmp_path):
    tree = tmp_path / "tree"
    hosts.hgx_h100_here(tree)
    table, options = tree / stub_nvml.TABLE, ("--host-root", tree, "--kubernetes", "off")
    with Daemon(tmp_path, *options) as daemon:
        eventually(lambda: daemon.answers("/readyz"), 60)
        assert daemon.end() == 0
    before = state(daemon)
    table.write_text("Init * hang\nInit_v2 * hang\n" + table.read_text())
    with Daemon(tmp_path, *options) as daemon:
        eventually(lambda: daemon.answers("/livez"), 60)
        assert state(daemon) == before, "no pass has ended yet"
        assert daemon.end() == 0


def children(daemon):
    return Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text().split()


def passes(daemon):
    lines = daemon.get("/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("hostagent_passes_total{"))
