"""What the checks of this family ask first: whether there is NCCL here, which settings a job finds, and which ports it should use."""

from collections.abc import Mapping
from typing import NamedTuple

from hostagent.check import Severity, Step, Unread, need, skip
from hostagent.domains.nccl.devices import version
from hostagent.domains.nccl.numbers import begins_with_digits, parse_number
from hostagent.domains.nccl.settings import ENVIRONMENT
from hostagent.domains.nccl.tables.changes import NEWEST, ignores_words
from hostagent.domains.network.rails import JobRails
from hostagent.domains.network.tables.rdma_devices import EFA
from hostagent.facts.nccl import Nccl, NcclPlugin, NcclSetting
from hostagent.facts.rdma import RdmaPort
from hostagent.profile import Profile

#: A longer path makes a step too long for one line.
_SHORT = 30


class Job(NamedTuple):
    """NCCL as a job of this host finds it."""

    nccl: Nccl
    settings: Mapping[str, NcclSetting]  # what NCCL sees, by name; names that nobody knows are left out

    @property
    def values(self) -> Mapping[str, str]:
        return {name: one.value for name, one in self.settings.items()}

    def value(self, name: str) -> str:
        """What NCCL sees, and nothing where it is not set."""
        return self.settings[name].value if name in self.settings else ""

    def number(self, name: str) -> "int | None":
        """As NCCL reads it; None where it is not set, or cannot be read so: the default counts then.

        A word is 0, unless the library is known to be so new that the default counts.
        """
        value, found = self.value(name), version(self.nccl)
        is_new = not isinstance(found, Unread) and ignores_words(found or NEWEST)
        return None if is_new and not begins_with_digits(value) else parse_number(value)

    def evidence(self, *names: str) -> tuple[str, ...]:
        """Where each that is set stands: ``/etc/nccl.conf:3: NCCL_NET=Socket``."""
        return tuple(f"{place(one)}: {one.name}={one.value}" for one in map(self.settings.get, names) if one)

    def version(self) -> tuple[int, int, int]:
        """Of the library that a job finds; where its image brings one, the newest that is known. Raises ``UnreadError``."""
        return need(version(self.nccl)) or NEWEST

    def without(self, name: str) -> Step:
        """To take the setting out of where it stands."""
        return Step("configure", f"Take {name} out of {self._file(name)}.")

    def instead(self, name: str, value: str) -> Step:
        """To give it another value where it stands; a long value is left to the finding's `wanted`."""
        text = f"Set {name}={value} in {self._file(name)}."
        return Step("configure", text if len(text) <= 90 else f"Correct {name} in {self._file(name)}.")

    def _file(self, name: str) -> str:
        origin = self.settings[name].origin if name in self.settings else ENVIRONMENT
        if origin == ENVIRONMENT:
            return "the job's environment"
        return origin if len(origin) <= _SHORT else "the file that NCCL_CONF_FILE names"


def job(nccl: Nccl) -> Job:
    """Skips a host without any NCCL: its jobs bring theirs. Raises ``UnreadError``."""
    if not need(nccl.is_there):
        skip("the host has no NCCL and no setting of it: jobs bring theirs")
    return Job(nccl, {one.name: one for one in need(nccl.settings) if one.wins and one.is_known})


def ports_of(rails: JobRails) -> tuple[RdmaPort, ...]:
    """The ports that jobs should use; () of an image, whose host nobody knows. Raises ``UnreadError``.

    Skips where jobs need no RDMA, and a host without such ports of which the profile does not ask for them.
    """
    required = rails.profile.rdma.required
    if required == "no":
        skip("the profile says that jobs need no RDMA")
    if rails.are_of_an_image:
        return ()
    if not rails.ports and required != "yes":
        skip("no RDMA port carries traffic of jobs")
    return rails.ports


def are_efa(rails: tuple[RdmaPort, ...]) -> bool:
    """All of them are Elastic Fabric Adapters: NCCL reaches them through a plug-in alone."""
    return bool(rails) and all(need(port.driver) == EFA for port in rails)


def with_network(nccl: Nccl) -> tuple[NcclPlugin, ...]:
    """The plug-ins that bring a network. A file that nobody can read matters only where there is no other. Raises ``UnreadError``."""
    plugins = need(nccl.plugins)
    found = tuple(one for one in plugins if not isinstance(one.kinds, Unread) and "net" in one.kinds)
    return found or tuple(one for one in plugins if "net" in need(one.kinds))


def is_in_images(nccl: Nccl) -> bool:
    """The host has no libnccl: the images of its jobs have it, with plug-ins that nobody sees from here. Raises ``UnreadError``."""
    return not need(nccl.libraries)


def is_on_path(plugin: NcclPlugin) -> bool:
    """The loader finds it by its name."""
    return plugin.place in ("LD_LIBRARY_PATH", "linker")


def weight(profile: Profile) -> "Severity | None":
    """`at_most` of what takes RDMA from jobs: it ends them only where they need it."""
    return None if profile.rdma.required == "yes" else "warning"


def place(one: NcclSetting) -> str:
    """Where it stands: ``/etc/nccl.conf:3``."""
    return f"{one.origin}:{one.line}" if one.line else "the job's environment"
