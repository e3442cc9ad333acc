"""Locates the playbooks that apply a plan: in a wheel next to this package's modules, in a checkout at its top."""

import os
import shutil

from hostagent.core.errors import HostagentError
from hostagent.core.installation import damaged_step
from hostagent.core.smallfile import reason

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: In this order: an installed hostagent never takes an unrelated directory next to it.
_PLACES = (os.path.join(_PACKAGE, "_playbooks"), os.path.join(os.path.dirname(_PACKAGE), "playbooks"))
_MAIN = "apply.yaml"


def playbooks_path() -> str:
    """The directory with ``apply.yaml`` and the roles. Raises ``HostagentError``."""
    found = next((place for place in _PLACES if os.path.isfile(os.path.join(place, _MAIN))), "")
    if not found:
        raise HostagentError(f"found no playbooks at {_PLACES[0]}", damaged_step())
    return found


def export(directory: str) -> None:
    """A copy of the playbooks as `directory`, which must not exist, or be empty. Raises ``HostagentError``."""
    source = playbooks_path()
    try:
        if os.path.isdir(directory) and os.listdir(directory):
            raise HostagentError(f"found files in {directory}, wanted a directory that is new or empty", "Name another directory")
        shutil.copytree(source, directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*", "__pycache__", "*.pyc"))
    except shutil.Error as error:
        raise HostagentError(f"cannot write all of {directory}: {error.args[0][0][2]}", "Name another directory") from error
    except OSError as error:
        raise HostagentError(f"cannot write {directory}: {reason(error)}", "Name another directory") from error
