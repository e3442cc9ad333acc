"""Mounts that enabled units of the administrator make at boot (systemd.mount(5)), for the directories of interest."""

from hostagent.core.parsing import stops_at_unread
from hostagent.core.unread import UnreadError, need
from hostagent.domains.system.mounts import holds, place_of_unit
from hostagent.domains.system.read_services import ETC, UnitTree
from hostagent.domains.system.unit_file import CONDITIONS, UnitText
from hostagent.host.source import Source
from hostagent.host.values import names_in

_NOT_ON_TAPE = ("not-recorded", "older-recording")


@stops_at_unread
def read_mount_units(source: Source, paths: tuple[str, ...]) -> dict[str, str]:
    """By mount point the file of an enabled, unconditional unit whose mount would hold one of the paths; {} on a recording without them."""
    try:
        units = {name: place_of_unit(name) for name in need(names_in(source, ETC)) if name.endswith(".mount")}
        wanted = {name: place for name, place in units.items() if place and any(holds(place, path) for path in paths)}
        tree = UnitTree(source) if wanted else None
        return {place: f"{ETC}/{name}" for name, place in wanted.items() if tree is not None and _is_made(tree, name)}
    except UnreadError as error:
        if error.unread.why in _NOT_ON_TAPE:
            return {}
        raise


def _is_made(tree: UnitTree, name: str) -> bool:
    found = tree.find(name)
    if found is None or (found.state not in ("enabled", "enabled-runtime") and name not in tree.vendor_started):
        return False
    return not _has_condition(found.settings)


def _has_condition(unit: UnitText) -> bool:
    return any(unit.values("Unit", key) for key in CONDITIONS)
