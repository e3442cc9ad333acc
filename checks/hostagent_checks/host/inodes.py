"""A filesystem has space left but no inodes: no file can be made, and every message says "No space left on device".

Kernel headers and container layers are many small files. Filesystems that make inodes as they need them are not checked.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, Unread, check, fail, need, shell, skip
from hostagent.facts.host import Filesystem, Storage


class Params(NamedTuple):
    """min_free: inodes that must be free on each of the system's filesystems"""

    min_free: int = 50_000


@check(
    title="The system's filesystems have free inodes",
    severity="warning",
    since="0.1",
    headline="A filesystem is running out of inodes",
    remedy=(
        Step(
            "configure", "Remove what fills the largest directories, often container layers.", command="du --inodes -x / | sort -n | tail"
        ),
    ),
    references=("statvfs(3)",),
    confirm=("df -i",),
)
def inodes(storage: Storage, params: Params) -> Findings:
    filesystems = need(storage.filesystems)
    counted = [one for one in filesystems if not _uncounted(one)]
    if not counted:
        skip("no filesystem here counts inodes")
    for one in counted:
        # a /boot of its own holds some dozen files, and is made with few inodes
        if one.holds != ("/boot",) and need(one.free_inodes) < params.min_free:
            found, wanted = need(one.free_inodes), f">= {params.min_free}"
            steps = (
                Step(
                    "configure",
                    "Remove what fills the largest directories, often container layers.",
                    shell("du --inodes -x {} | sort -n | tail", one.path),
                ),
            )
            yield fail(f"{one.path} has {found} free inodes", code="few", found=found, wanted=wanted, remedy=steps)


def _uncounted(one: Filesystem) -> bool:
    return isinstance(one.free_inodes, Unread) and one.free_inodes.why == "not-supported"
