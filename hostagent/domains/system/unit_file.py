"""The text of a systemd unit."""

#: Conditions of systemd.unit(5): a unit with one may rightly not be started.
CONDITIONS = tuple(
    f"Condition{name}"
    for name in (
        "PathExists", "PathExistsGlob", "PathIsDirectory", "PathIsSymbolicLink", "PathIsMountPoint", "PathIsReadWrite", "PathIsEncrypted",
        "DirectoryNotEmpty", "FileNotEmpty", "FileIsExecutable", "FirstBoot", "NeedsUpdate", "Architecture", "Firmware", "Virtualization",
        "Host", "KernelCommandLine", "KernelVersion", "KernelModuleLoaded", "Credential", "Environment", "Security", "Capability",
        "ControlGroupController", "Memory", "CPUs", "CPUFeature", "OSRelease", "ACPower", "User", "Group",
    )
)  # fmt: skip


class UnitText:
    """Settings of a unit file and its drop-ins, in order. An empty assignment clears what came before."""

    def __init__(self, settings: dict[tuple[str, str], list[str]]) -> None:
        self._settings = settings

    def values(self, section: str, key: str) -> list[str]:
        """The assignments in effect."""
        return self._settings.get((section, key), [])

    def words(self, section: str, key: str) -> list[str]:
        """The values split at white space, for lists of units."""
        return [word for value in self.values(section, key) for word in value.split()]


def parse_unit(text: str) -> UnitText:
    r"""Sections, assignments, comments and continued lines of systemd.syntax(7).

    >>> unit = parse_unit("[Unit]\nAfter=a.service \\\n  b.service\n[Install]\nWantedBy=x.target\nWantedBy=\n")
    >>> unit.words("Unit", "After"), unit.words("Install", "WantedBy")
    (['a.service', 'b.service'], [])
    """
    settings: dict[tuple[str, str], list[str]] = {}
    section = ""
    pending: list[str] = []
    for raw in text.split("\n"):
        line = raw.strip()
        if line.startswith(("#", ";")):
            continue
        if line.endswith("\\"):
            pending.append(line[:-1])
            continue
        line = " ".join([*pending, line]).strip() if pending else line
        pending = []
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
            continue
        key, separator, value = line.partition("=")
        if separator:
            earlier = settings.setdefault((section, key.strip()), [])
            if value.strip():
                earlier.append(value.strip())
            else:
                earlier.clear()
    return UnitText(settings)
