"""The same operations for each package manager."""

from collections.abc import Iterable
from typing import NamedTuple

from hostagent.domains.packages.commands import program_of
from hostagent.plan import aptcommands, rpmcommands
from hostagent.plan.view import View

Versions = Iterable[tuple[str, str]]


class Commands(NamedTuple):
    """argv for one host. ``program``: apt-get, dnf, zypper, tdnf; "" where it is not known, and then there are no commands."""

    program: str
    lock_timeout_s: int

    @property
    def is_apt(self) -> bool:
        return self.program == "apt-get"

    def install(self, versions: Versions, removed: Iterable[str] = ()) -> tuple[str, ...]:
        if self.is_apt:
            return aptcommands.install(versions, removed, self.lock_timeout_s)
        return rpmcommands.install(self.program, versions, removed)

    def reinstall(self, versions: Versions) -> tuple[str, ...]:
        """For packages at their version already: their scripts run again."""
        if self.is_apt:
            return aptcommands.reinstall(versions, (), self.lock_timeout_s)
        return rpmcommands.reinstall(self.program, versions)

    def downloaded(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        return aptcommands.downloaded(argv) if self.is_apt else rpmcommands.downloaded(argv)

    def refresh(self) -> tuple[str, ...]:
        return aptcommands.refresh(self.lock_timeout_s) if self.is_apt else rpmcommands.refresh(self.program)

    def hold(self, names: Iterable[str]) -> tuple[str, ...]:
        """() where the package manager has no command for it."""
        return aptcommands.hold(names) if self.is_apt else rpmcommands.hold(self.program, names)

    def unhold(self, names: Iterable[str]) -> tuple[str, ...]:
        return aptcommands.unhold(names) if self.is_apt else rpmcommands.unhold(self.program, names)


def commands(view: View, lock_timeout_s: int) -> Commands:
    return Commands(program_of(view.packages, view.os), lock_timeout_s)
