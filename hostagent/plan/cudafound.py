"""Whether the host has the wanted CUDA toolkit, and the transaction for it."""

# The distribution's own toolkit (/usr/lib/cuda) counts only where /usr/local/cuda leads to it.

from hostagent.core.unread import Unread, need
from hostagent.facts.cuda import CudaToolkit
from hostagent.facts.version import satisfies, upstream
from hostagent.plan.model import CudaChoice
from hostagent.plan.transactions import Commands
from hostagent.plan.view import View

#: The package of a toolkit that has its compiler.
_COMPILER = "cuda-nvcc-"


def found_version(view: View, constraint: str, paths: tuple[str, ...]) -> str:
    """Version of the toolkit that satisfies it, at the usual places: these folders, then the target of /usr/local/cuda; "" for none.

    One with an unread version or compiler does not count. Raises ``UnreadError``.
    """
    cuda = need(view.cuda)
    toolkits = need(cuda.toolkits)
    default = "" if isinstance(cuda.default, Unread) else cuda.default
    counted = (one for path in (*paths, default) for one in toolkits if path and _is_at(one, path))
    return next((version for one in counted if (version := _version(one)) and satisfies(version, constraint)), "")


def _is_at(one: CudaToolkit, path: str) -> bool:
    """Whether it is at the path; the folder of a major version is a link to that of a minor one."""
    return one.path == path or ("." not in path and one.path.startswith(f"{path}."))


def _version(one: CudaToolkit) -> str:
    if isinstance(one.version, Unread) or one.nvcc is not True:
        return ""
    version = upstream(one.version)
    return "" if isinstance(version, Unread) else version


def is_there(view: View, choice: CudaChoice) -> bool:
    """Raises ``UnreadError``."""
    return bool(found_version(view, choice.constraint, choice.paths))


def transaction(command: Commands, choice: CudaChoice, view: View, *, installed: bool) -> tuple[str, ...]:
    """The transaction for the toolkit; where its package is `installed`, a reinstallation of its files. Raises ``UnreadError``."""
    if not installed:
        return command.install(choice.packages)
    names = {name for name, _ in choice.packages}
    ends = tuple(name.removeprefix("cuda-toolkit-") for name in names)
    wanted = names | {f"{_COMPILER}{end}" for end in ends}
    have = need(need(view.installation).packages)
    return command.reinstall((one.name, one.version) for one in have if one.name in wanted and one.state == "installed")
