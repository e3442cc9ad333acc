"""What a failed program said, in one sentence."""

import re
from collections.abc import Mapping
from typing import Any

from hostagent.visible import visible

#: dpkg's word for a package whose script failed, and what its script said last stands before it.
_PACKAGE = re.compile(r"dpkg: error processing (?:package|archive) (\S+) \(([^)]*)\):")
_NOISE = re.compile(
    r"^(?:Setting up|Unpacking|Preparing|Processing|Selecting|\(Reading|Get:|Fetched|Reading|Building|"
    r"Need to|After this|The following|Errors were|\s)"
)
_WIDTH = 300


def failure(told: Mapping[str, Any]) -> str:
    r"""Of an operation that failed: ``nvidia-dkms-580-open: gcc: not found``.

    >>> failure({"stdout": "Setting up a (1) ...\nno headers\n", "stderr": "dpkg: error processing package a (--configure):\n exit 10\n"})
    'package a: no headers'
    >>> failure({"stdout": "", "stderr": "W: x\nE: Unable to locate package a\n", "rc": 100})
    'E: Unable to locate package a'
    """
    out, err = str(told.get("stdout") or ""), str(told.get("stderr") or "")
    package = _PACKAGE.search(err) or _PACKAGE.search(out)
    if package:
        return _short(f"package {package[1]}: {_last_of(package[1], out, err)}")
    errors = [line for line in (*err.splitlines(), *out.splitlines()) if line.startswith(("E:", "Error:", "error:", "dpkg: error"))]
    lines = errors or [line for line in err.splitlines() if line.strip()] or [line for line in out.splitlines() if line.strip()]
    last = lines[-1].strip() if lines else str(told.get("message") or "it said nothing")
    return _short(last)


def _last_of(package: str, out: str, err: str) -> str:
    """The last line of the package's script: on standard output behind ``Setting up PACKAGE``, or on standard error before dpkg's."""
    name = package.partition(":")[0].rpartition("/")[2].partition("_")[0]
    _, found, rest = out.rpartition(f"Setting up {name}")
    said = [line for line in rest.splitlines()[1:] if line.strip() and not _NOISE.match(line)] if found else []
    before = _PACKAGE.split(err)[0]
    warned = [line for line in before.splitlines() if line.strip() and not line.startswith(("W:", "N:"))]
    why = [line.strip() for line in err[len(before) :].splitlines()[1:2]]
    return (warned or said or why or ["its script failed"])[-1].strip()


def _short(text: str) -> str:
    return visible(text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…")
