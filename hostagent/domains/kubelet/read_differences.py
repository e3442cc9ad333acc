"""Differences between the running kubelet's configuration (configz) and its files."""

# `kubelet.configz` of a profile is {address, ca, token_file}, a mapping in every layer, so that a site file changes one of them;
# an address without the two files is a mistake. Where it is asked, its answer decides `kubelet.restart_pending` alone, and times
# of files do not count: a file that was touched is no difference. 0.5 s a step, 1.5 s in all.

from collections.abc import Mapping
from typing import Any

from hostagent.core.parsing import stops_at_unread
from hostagent.core.unread import Unread, need
from hostagent.domains.kubelet.tables.defaults import HELD
from hostagent.facts.kubelet import KubeletConfig
from hostagent.host.source import Source

_NOT_ASKED = Unread("not-recorded", "the profile names no configz")
_DOWN = Unread("not-running", "the kubelet does not run")


@stops_at_unread
def read_differences(source: Source, config: "KubeletConfig | Unread", *, runs: bool) -> "tuple[str, ...]":
    """Names of KubeletConfiguration fields that differ; unread without configz, or where one of our values is unknown."""
    answer = source.configz() if runs else _DOWN
    return differences(need(config), need(_NOT_ASKED if answer is None else answer))


def differences(config: KubeletConfig, served: Mapping[str, Any]) -> tuple[str, ...]:
    """Empty and absent are equal; raises ``UnreadError``."""
    ours = {field: _plain(how, need(getattr(config, name))) for name, field, how in HELD}
    return tuple(sorted(field for field, value in ours.items() if _filled(value) != _filled(served.get(field))))


def _plain(how: str, value: Any) -> Any:
    if how == "p":
        return dict(value)
    if how == "m":
        return [{"numaNode": row.numa_node, "limits": dict(row.limits)} for row in value]
    return list(value) if how == "l" else value


def _filled(value: Any) -> Any:
    return None if value in ("", 0, False, "0s") or value in ({}, []) else value
