"""IMEX of the host, the DRA driver's plug-in that starts another, and the fabric manager's starts."""

import pytest

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.gpu.read_imex import parse_imex_log, read_imex
from hostagent.domains.gpu.read_manager import parse_starts, read_fabric_manager
from hostagent.engine.catalogue import OURS, load
from hostagent.engine.check import NotApplicable
from hostagent.engine.report.remediation_plan import to_do
from hostagent.facts.gpu import FabricInfo, Gpu
from hostagent.facts.host import Machine, Process, Services, Unit
from hostagent.facts.nvswitch import Fabric
from hostagent.testing import host
from hostagent_checks.nvswitch._imex import ImexUse, skip_unless_all

PLUGIN = "/var/lib/kubelet/plugins/compute-domain.nvidia.com"
NONE = Unread("not-recorded", "")
STARTED = "[Nov 10 2026 06:00:22] [INFO] [tid 8] IMEX version 580.95.05 is running with the following configuration options:\n"


def made(kind, **fields):
    return kind(**{**dict.fromkeys(kind.__dataclass_fields__, NONE), **fields})


def imex(files, *, argv=(), text=NONE):
    facts = {
        Machine: made(Machine, processes=(Process(8, "nvidia-imex", argv, 1.0, "nvidia-imex.service"),) if argv else ()),
        Services: Services((made(Unit, name="nvidia-imex", exists=True, text=text),)),
    }
    return read_imex(host({"/proc/stat": "btime 1000\n", **files}), facts.__getitem__)


def test_without_any_file_there_is_no_list_no_socket_and_no_plug_in():
    found = imex({})
    assert (found.nodes.why, found.log.why, found.command_socket, found.plugin, found.domains) == ("absent", "absent", "", False, ())


def test_the_list_is_the_one_that_the_configuration_names():
    files = {"/etc/nvidia-imex/config.cfg": "IMEX_NODE_CONFIG_FILE=/etc/nvidia-imex/rack.cfg\n", "/etc/nvidia-imex/rack.cfg": "192.0.2.1\n"}
    assert (imex(files).nodes_file, imex(files).nodes) == ("/etc/nvidia-imex/rack.cfg", ("192.0.2.1",))


@pytest.mark.parametrize(
    "where", [{"argv": ("nvidia-imex", "-c", "/etc/imex.cfg")}, {"text": "[Service]\nExecStart=/usr/bin/nvidia-imex -c /etc/imex.cfg\n"}]
)
def test_the_configuration_is_the_one_that_the_daemon_or_its_unit_names(where):
    found = imex({"/etc/imex.cfg": "IMEX_CMD_ENABLED=1\nIMEX_CMD_UNIX_DOMAIN_PATH=/run/imex.sock\n"}, **where)
    assert found.command_socket == "/run/imex.sock"


@pytest.mark.parametrize("path", ["/opt/shared/imex.cfg", "/etc/../opt/shared/imex.cfg"])
def test_a_configuration_that_may_lie_on_a_network_is_not_read(path):
    assert imex({path: "IMEX_CMD_ENABLED=1\n"}, argv=("nvidia-imex", "-c", path)).nodes_file.why == "absent"


def test_a_socket_that_is_not_enabled_is_none():
    assert imex({"/etc/nvidia-imex/config.cfg": "IMEX_CMD_ENABLED=0\nIMEX_CMD_UNIX_DOMAIN_PATH=/run/imex.sock\n"}).command_socket == ""


def test_domains_of_the_plug_in_are_its_directories():
    assert imex({f"{PLUGIN}/domains/7f6a/imexd.cfg.tmpl": ""}).domains == ("7f6a",)


def test_a_socket_that_may_not_be_looked_at_leaves_the_plug_in_unknown():
    assert imex({f"{PLUGIN}/dra.sock": Unread("denied", "x")}).plugin.why == "denied"


@pytest.mark.parametrize(
    ("lines", "state", "lost", "errors"),
    [
        ("Connection established to node 3 with ip address 192.0.2.4.\nConnection lost to node 3: 192.0.2.4:50000\n", "", ("3",), 0),
        ("Connection lost to node 3\nConnection established to node 3 with ip address 192.0.2.4.\n", "", (), 0),
        ("[ERROR] [tid 8] No matching network interface found for any IP addresses\n", "", (), 1),
        ("[ERROR] [tid 8] x\nConnection established to node 0\n", "", (), 0),
        ("[WARNING] connect to 192.0.2.7:50000: Connection refused\n", "", (), 1),
        ("IMEX domain state changed to UP\nIMEX domain state changed from UP to DEGRADED\n", "DEGRADED", (), 0),
        ("Domain State: DEGRADED\nNode #3 state UNAVAILABLE of the domain\n", "DEGRADED", (), 0),
        ("IMEX domain state changed to DEGRADED\nIMEX domain state changed to UP\n", "UP", (), 0),
    ],
)
def test_the_last_state_in_the_log_counts(lines, state, lost, errors):
    found = parse_imex_log(STARTED + lines)
    assert (found.state, found.lost, len(found.errors)) == (state, lost, errors)


def test_what_was_logged_before_the_last_start_is_over():
    assert parse_imex_log(f"{STARTED}[FATAL] x\n{STARTED}").errors == ()
    assert parse_imex_log("[FATAL] x\n").why == "absent"


@pytest.mark.parametrize("line", ["[Foo 10 2026 06:00:21]", "[Nov 99 2026 06:00:21]", "[Nov 10 2026 99:00:21]", "[Nov 10 20260 06:00:21]"])
def test_a_start_without_a_time_is_none(line):
    assert parse_starts(f"{line} [INFO] [tid 8] Fabric Manager version 580.95.05 is running\n") == ()


def test_the_fabric_manager_reads_the_file_on_its_command_line():
    manager = Process(9, "nv-fabricmanager", ("nv-fabricmanager", "-c", "/etc/fm.cfg"), 1.0, "nvidia-fabricmanager.service")
    found = read_fabric_manager(host({"/etc/fm.cfg": "FABRIC_MODE=1\n"}), {Machine: made(Machine, processes=(manager,))}.__getitem__)
    assert (found.mode, found.starts.why) == (1, "absent")


def use(**facts):
    return ImexUse(**{**dict.fromkeys(("machine", "services", "fabric", "gpus", "imex"), NONE), **facts})


def gpu(cluster, state="completed", device="0x2941"):
    return made(Gpu, pci="0008:01:00.0", device_id=device, fabric=FabricInfo(state, 0, 1, cluster, ()))


@pytest.mark.parametrize(
    ("one", "switches", "on_rack"),
    [
        (gpu("c0ffee"), (), True),
        (gpu("00000000-0000-0000-0000-000000000000"), (), False),
        (gpu("c0ffee", "not-supported"), (), False),
        (gpu("c0ffee"), ("a switch",), False),
        (gpu("c0ffee", device="0x2901"), (), False),
    ],
    ids=["rack", "no cluster", "no fabric", "own switches", "board with hidden switches"],
)
def test_a_rack_is_a_fabric_that_other_hosts_switch(one, switches, on_rack):
    assert use(gpus=(one,), fabric=made(Fabric, nvswitches=switches)).is_on_rack is on_rack


UNIT = {"name": "nvidia-imex", "exists": True, "masked": False, "active": False}


def test_evidence_that_cannot_be_read_is_unread_unless_other_evidence_has_decided():
    enabled, disabled = (Services((made(Unit, **UNIT, enabled=value),)) for value in (True, False))
    assert use(services=disabled).starts_at_boot() is False
    with pytest.raises(UnreadError):
        use(services=enabled).starts_at_boot()
    assert use(services=enabled, machine=made(Machine)).runs is False


def test_the_reason_of_a_condition_that_does_not_hold_comes_before_a_gap():
    with pytest.raises(UnreadError):
        skip_unless_all((lambda: use().is_on_rack, "a"), (lambda: True, "b"))
    with pytest.raises(NotApplicable, match="b"):
        skip_unless_all((lambda: use().is_on_rack, "a"), (lambda: False, "b"))


def test_each_step_of_the_two_ways_out_names_its_way_in_the_order_that_is_printed():
    (twice,) = (one for one in load([OURS]) if one.id == "nvswitch.imex_twice")
    first, *others = (step.text for step in to_do([twice.remedy]))
    assert first.startswith("Decide")
    assert [text.split(":")[0] for text in others] == ["If the DRA driver does", "If the host does"]
