"""Drivers that cloud-init installs (its module ubuntu_drivers): a second owner of the driver.

Sources: cloud-init, cc_ubuntu_drivers and "Configuration sources": the base configuration, then the vendor's and the user's for this
instance, later ones over earlier ones. Read 2026-11.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.host.source import Source
from hostagent.host.values import paths_in

_MAIN, _PARTS = "/etc/cloud/cloud.cfg", "/etc/cloud/cloud.cfg.d"
_INSTANCE = "/var/lib/cloud/instance"
_OF_INSTANCE = ("vendor-cloud-config.txt", "vendor2-cloud-config.txt", "cloud-config.txt")
#: As PyYAML reads it: a version may be a number.
_KEEP = Keep(
    "yaml", ("drivers/nvidia/license-accepted", "drivers/nvidia/license-accepted#", "drivers/nvidia/version", "drivers/nvidia/version#")
)
_YES = frozenset({"yes", "y", "true", "t", "1", "on", "enable", "enabled"})


@stops_at_unread
def read_cloud_init_drivers(source: Source) -> "tuple[str, ...] | Unread":
    drivers: dict[str, Any] = {}
    for path in _paths(source):
        text = need(source.text(path, keep=_KEEP, absent=""))
        if "drivers" in text:
            try:
                _merge(drivers, parse_drivers(text))
            except ValueError as error:
                raise UnreadError(Unread("error", f"{path}: {error}")) from error
    nvidia = drivers.get("nvidia")
    if not isinstance(nvidia, dict) or str(nvidia.get("license-accepted", "")).lower() not in _YES:
        return ()
    version = nvidia.get("version")
    return (f"nvidia {version}"[:80] if version not in (None, "") else "nvidia",)


def _paths(source: Source) -> Iterator[str]:
    yield _MAIN
    yield from (path for path in paths_in(source, _PARTS) if path.endswith(".cfg"))
    yield from (f"{_INSTANCE}/{name}" for name in _OF_INSTANCE)


def _merge(into: "dict[str, Any]", other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            into[key] = {**into[key], **value}
        else:
            into[key] = value


def parse_drivers(text: str) -> "dict[str, Any]":
    r"""The table ``drivers`` of a cloud-config, {} for none; raises ``ValueError``.

    >>> parse_drivers("#cloud-config\ndrivers:\n  nvidia:\n    license-accepted: true\n    version: 580-server\n")
    {'nvidia': {'license-accepted': True, 'version': '580-server'}}
    """
    from hostagent.core.yamlfile import parse_foreign_yaml

    document = parse_foreign_yaml(text.encode("utf-8", "surrogateescape"))
    drivers = document.get("drivers") if isinstance(document, dict) else None
    return drivers if isinstance(drivers, dict) else {}
