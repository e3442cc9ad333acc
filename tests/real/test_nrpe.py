"""NRPE itself runs the commands that ship for it, as an ordinary user, and its client ends with their exit codes."""

import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from hostagent.engine.report.state import SCHEMA_VERSION
from tests.attack import spaces
from tests.attack.everyone import Program
from tests.children import until
from tests.real.conftest import need_real

pytestmark = [
    pytest.mark.alone,
    pytest.mark.full,
    pytest.mark.skipif(os.geteuid() != 0, reason="NRPE begins as root: run the tests as root"),
]

SHIPPED = Path(__file__).parents[2] / "daemonset/nagios/nrpe.cfg"
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@pytest.fixture
def nrpe(tmp_path):
    """Asks a server of this test's own for a command, of a host with that verdict."""
    folder = Path(need_real("nrpe/nrpe", "bash tests/real/install_nrpe.sh")).parent
    spaces.unshare("mount")
    spaces.reachable(tmp_path)
    program = Program(tmp_path)
    state, wrapper, config = tmp_path / "state.json", tmp_path / "hostagent", tmp_path / "nrpe.cfg"
    words = " ".join(f"{name}='{value}'" for name, value in program._environment.items())
    main = "from hostagent.__main__ import main; main()"
    wrapper.write_text(f"#!/bin/sh\ncd /\n{words} exec {program._python} -c '{main}' \"$@\" --state-file {state}\n")
    wrapper.chmod(0o755)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = SHIPPED.read_text()
    assert text.count("]=/usr/bin/hostagent ") == 2
    settings = f"server_port={port}\nserver_address=127.0.0.1\nnrpe_user=nobody\nnrpe_group=nogroup\nallowed_hosts=127.0.0.1\n"
    config.write_text(f"{settings}pid_file={tmp_path}/pid\ncommand_timeout=60\n{text.replace('/usr/bin/hostagent ', f'{wrapper} ')}")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}

    def ask(command, verdict, left_s=900):
        document = {
            "schema_version": SCHEMA_VERSION,
            "observed_at": time.time() - 1000,
            "valid_until": time.time() + left_s,
            "boot_id": BOOT,
            "profile": {"name": "default", "hash": "x"},
            "verdict": {"single_node": verdict, "multi_node": "not_ready"},
            "reasons": [],
            "headline": "GPU 4 is gone",
        }
        state.write_text(json.dumps(document))
        client = [str(folder / "check_nrpe"), "-n", "-H", "127.0.0.1", "-p", str(port), "-t", "60", "-c", command]
        done = subprocess.run(client, env=environment, capture_output=True, text=True, check=False, timeout=90)
        return done.returncode, done.stdout

    with subprocess.Popen([str(folder / "nrpe"), "-n", "-f", "-c", str(config)], env=environment) as server:
        try:
            assert until(lambda: _listens(port))
            yield ask
        finally:
            server.terminate()


def _listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_nrpe_tells_the_verdict_and_its_client_exits_by_it(nrpe):
    for verdict, code in (("ready", 0), ("degraded", 1), ("not_ready", 2), ("unknown", 3)):
        found, said = nrpe("check_hostagent", verdict)
        assert (found, said.startswith(verdict.replace("_", " ").upper())) == (code, True), said
        assert nrpe("check_hostagent_multi_node", verdict)[0] == 2
    found, said = nrpe("check_hostagent", "ready", left_s=-1)
    assert (found, said.startswith("UNKNOWN: the verdict expired ")) == (3, True)
