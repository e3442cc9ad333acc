"""Where the playbooks are: in an installed package beside the modules, else in the repository."""

import os

from hostagent.errors import HostagentError

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def directory() -> str:
    """The folder that has ``apply.yaml`` and its roles. Raises ``HostagentError``."""
    for path in (os.path.join(_HERE, "_playbooks"), os.path.join(os.path.dirname(_HERE), "playbooks")):
        if os.path.exists(os.path.join(path, "apply.yaml")):
            return path
    raise HostagentError("found no playbooks beside this hostagent, wanted apply.yaml", "Install hostagent[install] again")
