"""Where a single file or a package of hostagent begins: adds what lies beside this file for the Python that runs, and starts hostagent.

Copied into both as it is; see ``release/stage.py``.
"""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hostagent.core.installation import Way


def start(way: "Way", program: str) -> None:
    """Ends the process. `way` and `program`: see ``hostagent.core.installation``."""
    here = os.path.dirname(os.path.abspath(__file__))
    # Of this Python its own library alone: other versions of what lies here, and half of them, may be installed in it.
    library = [one for one in sys.path if os.path.basename(one) not in ("site-packages", "dist-packages")]
    sys.path[:] = dict.fromkeys((here, *places(here), *library))
    try:
        from hostagent.__main__ import main
        from hostagent.core.installation import started_as

        started_as(way, program)
    except BaseException as error:
        os.write(2, f"Error: hostagent cannot run here: {type(error).__name__}: {str(error)!r:.200}.\n".encode("ascii", "backslashreplace"))
        os._exit(2)  # 1 is a verdict
    main()


def places(here: str) -> "list[str]":
    """The directories for this Python: ``_python/3.12`` is that one's, ``_python/3.12+`` is for each from 3.12 on."""
    own = os.path.join(here, "_python")
    return [os.path.join(own, name) for name in sorted(os.listdir(own)) if _is_for(name, sys.version_info[:2])]


def _is_for(name: str, running: "tuple[int, int]") -> bool:
    major, _, minor = name.rstrip("+").partition(".")
    wanted = (int(major), int(minor))
    return running >= wanted if name.endswith("+") else running == wanted
