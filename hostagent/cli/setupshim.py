"""``hostagent setup --write-shim`` and ``--remove-shim``: for ``hostagent.cli.setup``, and imported only there."""

from hostagent.cli.streams import complain, say
from hostagent.install.shims import remove_shims, write_shims
from hostagent.setup.shimtext import KEPT


def write_shim(directory: str, *, exact: bool) -> int:
    """The paths on standard output, one per line."""
    shims = write_shims(directory, exact=exact)
    say(*(shim.path for shim in shims))
    for shim in shims:
        if shim.kept:
            complain(f"The script that was there is {KEPT} next to {shim.path}.")
    return 0


def remove_shim(directory: str) -> int:
    shims = remove_shims(directory)
    say(*(f"{shim.path}: {'the script before it is back' if shim.kept else 'removed'}" for shim in shims))
    if not shims:
        complain(f"Found no script of hostagent below {directory}.")
    return 0
