"""The effective KubeletConfiguration: files, drop-ins and flags merged, defaulted and refused as that version's kubelet does.

Measured against the kubelet 1.35.4 (tests/real/test_kubelet_configz.py). Other minor versions follow their sources. Credentials,
certificates, kubeconfig, sockets, swap and what only the machine's cgroups decide are no part of `state`.
"""

# Older than 1.29 is evaluated by 1.29's rules (`older`), newer than 1.37 by 1.37's (`newer`), an unread version by 1.37's
# (`unknown`); a rejection then counts only if every known version rejects, and an unknown gate, flag, policy or option leaves
# `state` unread for older and newer. Also left out of `state`: failCgroupV1, syntax of node labels (unknown kubernetes.io labels
# are in it), taints, tracing, sysctls, finer options of the log format.
# configz serves what the kubelet changes later: with reservedSystemCPUs, `cpu` disappears from kubeReserved and
# systemReserved.cpu becomes their number, but a systemReserved that was not there stays absent. Facts have it so.

import re
from typing import NamedTuple

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.kubelet.config.canonical import canonical, origins
from hostagent.domains.kubelet.config.flags import FlagError
from hostagent.domains.kubelet.config.gates import UnknownNameError
from hostagent.domains.kubelet.config.load import KnownInputs, Loaded, known_inputs, load
from hostagent.domains.kubelet.config.managers import managed
from hostagent.domains.kubelet.config.model import Effective, KubeletInputs, Machine
from hostagent.domains.kubelet.config.restart import refused
from hostagent.domains.kubelet.config.validation import validated
from hostagent.domains.kubelet.config.values import TooLargeError
from hostagent.domains.kubelet.tables.defaults import NEWEST, OLDEST

__all__ = ["Effective", "KubeletInputs", "Machine", "effective"]

_VERSION = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})")
_MAX_ERROR = 2000


class _Judged(NamedTuple):
    """The result by one minor version's rules. `error`: why the kubelet does not start, "" where it does."""

    error: str
    by_name: bool  # rejected for an unknown name, which another version may know
    loaded: Loaded | None
    files: list[tuple[str, str]] | Unread


def effective(inputs: KubeletInputs, machine: Machine) -> Effective:
    """The effective configuration of a kubelet with these inputs on this machine. Pure."""
    minor, judged_as = _rules(inputs.version)
    try:
        known = known_inputs(inputs)
        judged = _judge(known, machine, minor)
        doubt = judged_as != "" and judged.error != "" and not _certain(judged, judged_as, known, machine)
    except UnreadError as error:
        gap = error.unread
        return Effective(gap, gap, gap, gap, judged_as, gap)
    state: str | Unread = "rejected" if judged.error else "accepted"
    if doubt:
        state = Unread("error", f"this version is not known, and known ones refuse it: {judged.error}"[:_MAX_ERROR])
    error_text: str | Unread = state if isinstance(state, Unread) else judged.error[:_MAX_ERROR]
    names = judged.files if isinstance(judged.files, Unread) else tuple(name for name, _ in judged.files)
    if judged.loaded is None:
        gap = state if isinstance(state, Unread) else Unread("error", judged.error[:_MAX_ERROR])
        return Effective(state, error_text, gap, gap, judged_as, names)
    return Effective(state, error_text, canonical(judged.loaded.config), origins(judged.loaded.origin), judged_as, names)


def _rules(version: str | Unread) -> tuple[int, str]:
    """The minor version whose rules apply, and `judged_as`.

    >>> _rules("v1.34.2-eks-1"), _rules("1.99.0"), _rules("1.20.1"), _rules(Unread("denied"))[1]
    ((34, ''), (37, 'newer'), (29, 'older'), 'unknown')
    """
    match = None if isinstance(version, Unread) else _VERSION.search(version)
    if match is None:
        return NEWEST, "unknown"
    major, minor = int(match[1]), int(match[2])
    if (major, minor) > (1, NEWEST):
        return NEWEST, "newer"
    if (major, minor) < (1, OLDEST):
        return OLDEST, "older"
    return minor, ""


def _certain(judged: _Judged, judged_as: str, known: KnownInputs, machine: Machine) -> bool:
    """Whether an unknown version rejects it too: every known one does, and not for a name that another version may know."""
    if judged.by_name and judged_as != "unknown":
        return False
    return all(_judge(known, machine, minor).error for minor in range(OLDEST, NEWEST + 1))


def _judge(known: KnownInputs, machine: Machine, minor: int) -> _Judged:
    loaded = None
    try:
        loaded = load(known, minor)
        validated(loaded.config, loaded.gates)
        with_cpus = managed(loaded.config, loaded.gates, machine)
        shown = loaded._replace(config={**with_cpus.config, "systemReserved": _as_shown(loaded, with_cpus.config)})
        on = loaded.gates.enabled("MemoryManager") or not loaded.gates.knows("MemoryManager")
        files = refused(with_cpus, machine, memory_manager=on)
        return _Judged("" if isinstance(files, Unread) or not files else files[0][1], by_name=False, loaded=shown, files=files)
    except TooLargeError as error:
        raise UnreadError(Unread("error", f"this configuration is not read: {error}")) from error
    except ValueError as error:
        by_name = isinstance(error, UnknownNameError) or (isinstance(error, FlagError) and error.by_name)
        return _Judged(str(error), by_name, loaded, [])


def _as_shown(loaded: Loaded, config: dict[str, object]) -> object:
    """`systemReserved` as configz serves it: changed where it was set, and not where the kubelet created it."""
    return config.get("systemReserved") if loaded.config.get("systemReserved") is not None else None
