"""Programs of the toolkit on the disk: the package database is no proof of them."""

from hostagent.core.unread import need
from hostagent.domains.packages.tables.names import TOOLKIT_BASE
from hostagent.plan.model import ToolkitChoice
from hostagent.plan.transactions import Commands
from hostagent.plan.view import View

_NEEDED = ("nvidia-container-runtime", "nvidia-ctk")


def has_programs(view: View) -> bool:
    """Whether the programs for every kind of access exist and are executable. Raises ``UnreadError``."""
    there = {path.rpartition("/")[2] for path, is_executable in need(need(view.toolkit).binaries) if is_executable}
    return there.issuperset(_NEEDED)


def transaction(commands: Commands, choice: ToolkitChoice, view: View, *, installed: bool) -> tuple[str, ...]:
    """The transaction for the toolkit; a reinstallation where its packages are `installed` without programs. Raises ``UnreadError``."""
    if installed and not has_programs(view):
        return commands.reinstall(one for one in choice.packages if one[0] == TOOLKIT_BASE)
    return commands.install(choice.packages)
