"""The configuration and log of the host's IMEX, and the compute-domain plug-in of NVIDIA's DRA driver.

Sources: NVIDIA IMEX Service Guide (configuration file, nodes file, log); kubernetes-sigs/dra-driver-nvidia-gpu,
cmd/compute-domain-kubelet-plugin (directories below the kubelet's) and site/content/docs/prerequisites.md (IMEX by the host).
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from hostagent.core.parsing import shown, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.tables.nvlink_fabric import COMPUTE_DOMAINS, IMEX_GOOD_STATES, IMEX_PROCESS, IMEX_STATES, IMEX_UNIT
from hostagent.core.unread import NOT_THERE, Unread, need, then
from hostagent.domains.gpu.read_nvswitches import IMEX_NODES, NODES, parse_imex_nodes
from hostagent.domains.runtime.tables.versions import KUBELET_ROOTS
from hostagent.domains.system.read_kernel import read_boot_time
from hostagent.domains.system.unit_file import parse_unit
from hostagent.facts.host import Machine, Services
from hostagent.facts.imex import Imex, ImexLog
from hostagent.host.source import Source
from hostagent.host.values import names_in

_CONFIG, _LOG = "/etc/nvidia-imex/config.cfg", "/var/log/nvidia-imex.log"
_NODE_FILE, _ENABLED, _SOCKET, _LOG_FILE = "IMEX_NODE_CONFIG_FILE", "IMEX_CMD_ENABLED", "IMEX_CMD_UNIX_DOMAIN_PATH", "LOG_FILE_NAME"
_SETTINGS = Keep("settings", (_NODE_FILE, _ENABLED, _SOCKET, _LOG_FILE))
#: A path elsewhere may lie on a file system of the network, which may hang.
_LOCAL = ("/etc/", "/run/", "/usr/", "/var/")
_LINE, _LINES = 400, 20
#: The clock of a host may be set after its boot.
_CLOCK_S = 60
_STARTED = re.compile(r"IMEX version \d")
_ITSELF = re.compile(r"Identified this node as ID \d")
_UP = re.compile(r"Connection established to node (\d{1,6})")
_DOWN = re.compile(r"(?i)(?:connection lost|lost connection|disconnected|connection closed)[^\n]{0,40}?\bnode (\d{1,6})")
_STATE = re.compile(rf"(?i)\b(?:state|status)\b[^\n]{{0,80}}\b({'|'.join(IMEX_STATES)})\b")
#: The state of the domain or the service, not of a node.
_WHOLE, _NODE = re.compile(r"(?i)\b(?:domain|imex)\b"), re.compile(r"(?i)\bnode\b")
_ERROR = re.compile(r"(?i)\[(?:ERROR|FATAL|CRITICAL)\]|\bconnection refused\b")
_READ = tuple(f"(?i:{one.pattern.removeprefix('(?i)')})" for one in (_STARTED, _ITSELF, _UP, _DOWN, _STATE, _ERROR))
_MESSAGES = Keep("log", tuple(rf"^(?=.{{0,{_LINE}}}?{one}).{{0,{_LINE}}}" for one in _READ))


def read_imex(source: Source, known: Callable[[type], Any]) -> Imex:
    path = _config_path(known(Machine), known(Services))
    settings = then(then(path, lambda one: source.text(one, keep=_SETTINGS, absent="")), parse_settings)
    nodes_file = then(settings, lambda found: _local(found.get(_NODE_FILE) or IMEX_NODES))
    log = then(settings, lambda found: _local(found.get(_LOG_FILE) or _LOG))
    return Imex(
        nodes_file=nodes_file,
        nodes=then(then(nodes_file, lambda one: source.text(one, keep=NODES)), parse_imex_nodes),
        command_socket=then(settings, lambda found: found.get(_SOCKET, "") if found.get(_ENABLED) == "1" else ""),
        log=then(then(log, lambda one: source.tail(one, keep=_MESSAGES)), parse_imex_log),
        plugin=_has_plugin(source),
        domains=_domains(source),
    )


def parse_settings(text: str) -> dict[str, str]:
    r"""Settings of IMEX' configuration file: ``NAME=value`` lines, comments after ``#``; of two the later.

    >>> parse_settings("# IMEX\nSERVER_PORT=50000\nIMEX_CMD_ENABLED=1 # for nvidia-imex-ctl\n#LOG_LEVEL=4\n")
    {'SERVER_PORT': '50000', 'IMEX_CMD_ENABLED': '1'}
    """
    rows = (line.partition("#")[0].partition("=") for line in text.splitlines())
    return {name.strip(): value.strip().strip('"') for name, separator, value in rows if separator}


def parse_imex_log(text: str) -> "ImexLog | Unread":
    r"""What IMEX has logged since its last start; the file continues over restarts and boots.

    >>> log = (
    ...     "[Mar 27 2025 15:47:10] [INFO] [tid 39] IMEX version 570.124.06 is running with the following configuration options\n"
    ...     "[Mar 27 2025 15:47:10] [INFO] [tid 39] Identified this node as ID 0, using bind IP of '10.0.0.8'\n"
    ...     "[Mar 27 2025 15:47:10] [INFO] [tid 67] Connection established to node 0 with ip address 10.0.0.8.\n"
    ... )
    >>> parse_imex_log(log)
    ImexLog(errors=(), state='', lost=(), connected=1, knows_itself=True)
    >>> parse_imex_log(log + "[Mar 27 2025 15:50:00] [ERROR] [tid 67] Failed to allocate Imex session\n").errors
    ('[Mar 27 2025 15:50:00] [ERROR] [tid 67] Failed to allocate Imex session',)
    """
    lines = [line[:_LINE] for line in text.splitlines()]
    started = max((at for at, line in enumerate(lines) if _STARTED.search(line)), default=-1)
    if started < 0:
        return Unread("absent", "the log has no start of IMEX")
    errors: list[str] = []
    nodes: dict[str, bool] = {}
    state, knows_itself = "", False
    for line in lines[started + 1 :]:
        if about := _UP.search(line) or _DOWN.search(line):
            nodes[about[1]] = about.re is _UP
        found = _STATE.search(line) if _WHOLE.search(line) and not _NODE.search(line) else None
        if found:
            state = found[1].upper()
        knows_itself = knows_itself or _ITSELF.search(line) is not None
        if _UP.search(line) or (found and state in IMEX_GOOD_STATES):
            errors.clear()
        elif _ERROR.search(line):
            errors.append(shown(line.strip()))
    lost = tuple(name for name, is_up in nodes.items() if not is_up)
    return ImexLog(tuple(errors[-_LINES:]), state, lost, sum(nodes.values()), knows_itself)


def _config_path(machine: "Machine | Unread", services: "Services | Unread") -> "str | Unread":
    """The file that -c names: of the running daemon, else of its unit."""
    running = () if isinstance(machine, Unread) else machine.daemons(IMEX_PROCESS)
    found = () if isinstance(running, Unread) else tuple(word for one in running for word in _after_c(one.argv))
    if not found:
        unit = services if isinstance(services, Unread) else services.unit(IMEX_UNIT)
        text = "" if isinstance(unit, Unread) or isinstance(unit.text, Unread) else unit.text
        found = _after_c(tuple(parse_unit(text).words("Service", "ExecStart")))
    return _local(found[0] if found else _CONFIG)


def _after_c(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(after for word, after in pairwise(words) if word == "-c" and after.startswith("/"))


def _local(path: str) -> "str | Unread":
    is_local = path.startswith(_LOCAL) and "/../" not in path
    return path if is_local else Unread("absent", f"IMEX is set up in {shown(path)}, which is not read")


@stops_at_unread
def _has_plugin(source: Source) -> bool:
    """Sockets of plug-ins survive a reboot: one counts that is younger than the boot."""
    for root in KUBELET_ROOTS:
        directory = f"{root}/plugins/{COMPUTE_DOMAINS}"
        for name in need(names_in(source, directory)):
            if name.startswith("dra") and name.endswith(".sock"):
                found = source.stat(f"{directory}/{name}")
                if isinstance(found, Unread) and found.why in NOT_THERE:
                    continue
                if need(found).kind == "socket" and need(found).mtime >= need(read_boot_time(source)) - _CLOCK_S:
                    return True
    return False


@stops_at_unread
def _domains(source: Source) -> tuple[str, ...]:
    return tuple(name for root in KUBELET_ROOTS for name in need(names_in(source, f"{root}/plugins/{COMPUTE_DOMAINS}/domains")))
