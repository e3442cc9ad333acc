"""Docker's daemon.json with an entry for NVIDIA's runtime, merged as JSON so that all else stays."""

import json
import re
from typing import Any

from hostagent.plan.runtime.containerd import PROGRAM, Change, EditError

CONFIG = "/etc/docker/daemon.json"
#: Flags of dockerd that conflict with the same setting in the file.
DEFAULT_FLAG = "--default-runtime"
#: First version of dockerd that validates a file without starting (Docker Engine 23.0, release notes: --validate).
VALIDATES_SINCE = "23.0"


def merged(text: str, change: Change) -> str:
    """The file's text with the change, its order and indentation kept. Raises ``EditError``.

    >>> print(merged('{"features": {"buildkit": true}}', Change({}, True, "")), end="")
    {
        "features": {
            "buildkit": true,
            "cdi": true
        }
    }
    """
    data = _object(_parsed(text), "daemon.json")
    if change.entry:
        runtimes = _object(data.setdefault("runtimes", {}) or {}, "runtimes")
        old = _object(runtimes.get("nvidia") or {}, "runtimes.nvidia")
        kept = {key: value for key, value in old.items() if key not in ("path", "runtimeType", "options")}
        data["runtimes"] = {**runtimes, "nvidia": {"args": [], **kept, "path": PROGRAM}}
    if change.cdi:
        data["features"] = {**_object(data.get("features") or {}, "features"), "cdi": True}
    if change.default:
        data["default-runtime"] = change.default
    return json.dumps(data, indent=_indentation(text), ensure_ascii=False) + "\n"


def _parsed(text: str) -> Any:
    try:
        return json.loads(text.removeprefix("\ufeff").strip() or "{}")
    except (ValueError, RecursionError) as error:
        raise EditError(f"not JSON: {error}") from error


def _object(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise EditError(f"{where}: found {type(value).__name__}, wanted an object")
    return value


def _indentation(text: str) -> "int | str":
    """The indentation of the first indented line."""
    found = re.search(r"\n([ \t]+)\S", text)
    return 4 if found is None else found[1]
