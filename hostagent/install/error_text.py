"""The error text of a failed program, in one sentence."""

# ENOSPC anywhere in what a failed program printed comes first, because the other errors come from it; dpkg's own reason before
# apt's.

import re
from collections.abc import Mapping
from typing import Any

from hostagent.core.escape import cut, visible

#: dpkg's message for a package with a failed script; the script's last output precedes it.
_PACKAGE = re.compile(r"dpkg: error processing (?:package|archive) (\S+) \(([^)]*)\):")
_ARCHIVE = "dpkg: error processing archive"
_NOISE = re.compile(
    r"^(?:Setting up|Unpacking|Preparing|Processing|Selecting|\(Reading|Get:|Fetched|Reading|Building|"
    r"Need to|After this|The following|Errors were|\d+ upgraded|\s)"
)
#: ENOSPC by strerror(3): all later errors follow from it.
_FULL = "No space left on device"
_WIDTH = 300


def failure(result: Mapping[str, Any]) -> str:
    r"""The error of an operation that failed: ``nvidia-dkms-580-open: gcc: not found``.

    >>> failure({"stdout": "Setting up a (1) ...\nno headers\n", "stderr": "dpkg: error processing package a (--configure):\n exit 10\n"})
    'package a: no headers'
    >>> out = "Setting up a (1) ...\nno headers\ndpkg: error processing package a (--configure):\n exit 10\nErrors were encountered\n"
    >>> failure({"stdout": out, "stderr": "E: Sub-process /usr/bin/dpkg returned an error code (1)\n"})
    'package a: no headers'
    >>> failure({"stdout": out.replace("no headers\n", ""), "stderr": ""})
    'package a: exit 10'
    >>> failure({"stdout": "", "stderr": f"cp: error writing 'x': {_FULL}\ngzip: x: unexpected end of file\n"})
    "cp: error writing 'x': No space left on device"
    >>> full = "1 not upgraded.\ndpkg: error processing archive a.deb (--unpack):\n cannot copy './x': No space left on device\n"
    >>> failure({"stdout": full, "stderr": "E: Sub-process /usr/bin/dpkg returned an error code (1)\n"})
    "package a.deb: cannot copy './x': No space left on device"
    >>> failure({"stdout": "", "stderr": "W: x\nE: Unable to locate package a\n", "rc": 100})
    'E: Unable to locate package a'
    """
    out, err = str(result.get("stdout") or ""), str(result.get("stderr") or "")
    package = _PACKAGE.search(err) or _PACKAGE.search(out)
    full = next((line.strip() for line in (*out.splitlines(), *err.splitlines()) if _FULL in line), "")
    if package:
        message = _last_of(package[1], out, err)
        return visible(cut(f"package {package[1]}: {message if not full or _FULL in message else full}", _WIDTH))
    if full:
        return visible(cut(full, _WIDTH))
    errors = [line for line in (*err.splitlines(), *out.splitlines()) if line.startswith(("E:", "Error:", "error:", "dpkg: error"))]
    lines = errors or [line for line in err.splitlines() if line.strip()] or [line for line in out.splitlines() if line.strip()]
    last = lines[-1].strip() if lines else str(result.get("message") or "it said nothing")
    return visible(cut(last, _WIDTH))


def _last_of(package: str, out: str, err: str) -> str:
    """The last line of the package's script: before dpkg's message, after ``Setting up PACKAGE``; dpkg's standard error is apt's output."""
    name = package.partition(":")[0].rpartition("/")[2].partition("_")[0]
    for text in (err, out):
        before, word, after = _split(text)
        if word.startswith(_ARCHIVE) and after and "script" not in after:
            return after.strip()  # dpkg itself failed: its own reason
        if word:
            behind = before.rpartition(f"Setting up {name}")[2].splitlines()[1:] if f"Setting up {name}" in before else before.splitlines()
            own = [line for line in behind if line.strip() and not _NOISE.match(line) and not line.startswith(("W:", "N:", "dpkg:"))]
            if own or text is out:
                return (own or [after or "its script failed"])[-1].strip()
    return _last_of(package, f"{out}\n{err}", "") if _PACKAGE.search(err) else "its script failed"


def _split(text: str) -> tuple[str, str, str]:
    """The text before dpkg's message on a package, the message, and the line after it."""
    found = _PACKAGE.search(text)
    return (text[: found.start()], found[0], text[found.end() :].lstrip("\r\n").partition("\n")[0]) if found else (text, "", "")
