"""Removes half-written files of a killed run, which no other run would check."""

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from typing import Any

from hostagent.core.errors import HostagentError
from hostagent.install.remembered import moment, plans
from hostagent.install.runs import Run
from hostagent.install.target import StrayLinkError, Target

#: Ansible's temporary file next to its destination (tempfile.mkstemp), to be renamed.
_HALF_WRITTEN = re.compile(r"tmp[a-z0-9_]{8}|\.ansible_tmp[a-z0-9_]{8}.*")


def todo(documents: Iterable[Mapping[str, Any]]) -> "list[Mapping[str, Any]]":
    """The steps of a run's plans that were to do."""
    return [step for plan in documents for step in plan["steps"] if step["state"] == "to-do"]


def written_files(documents: Iterable[Mapping[str, Any]]) -> set[str]:
    """The files of these steps."""
    return {what["path"] for step in todo(documents) for one in step["do"] for what in one.values() if "path" in what}


def clear_half_written(target: Target, run: Run) -> None:
    """Remove temporary files next to the files of its plans that are younger than the run. No process of it may still run."""
    began, folders = 0.0, set[str]()
    with contextlib.suppress(StopIteration, HostagentError):  # a damaged run
        began = next(moment(one.get("at")) for one in run.journal() if one.get("event") == "begin")
        folders = {os.path.dirname(path) for path in written_files(plans(run))}
    for folder in sorted(folders):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, StrayLinkError):
            place = target.directory(folder)
            for name in filter(_HALF_WRITTEN.fullmatch, os.listdir(place)):
                found = os.lstat(f"{place}/{name}")
                if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_ctime >= began:
                    os.unlink(f"{place}/{name}")
