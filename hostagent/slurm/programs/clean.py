"""Removes texts of hostagent from nodes, and nothing else."""

from collections.abc import Iterable
from typing import NamedTuple

from hostagent.slurm import reason as texts
from hostagent.slurm.client import Cluster, SlurmError, shown
from hostagent.slurm.node import Node, is_out, may_resume, must_not_be_written


class CleanResult(NamedTuple):
    """``line``: what was done, "" for a node with nothing of hostagent. ``is_clean``: nothing is left."""

    line: str
    is_clean: bool


def update_of(node: Node) -> tuple[dict[str, str], str]:
    """What removes all that is hostagent's, and what of it stays and why."""
    found, stays = dict[str, str](), ""
    if texts.is_ours(node.reason) and is_out(node):
        if may_resume(node):
            found["State"] = "RESUME"
        else:
            stays = f"its reason stays, because it is {'+'.join(sorted(node.states))}"
    if texts.is_our_comment(node.comment):
        found["Comment"] = ""
    if texts.our_extra(node.extra) is not None:
        found["Extra"] = ""
    if must_not_be_written(node.states) and (found or stays):
        return {}, f"nothing is changed, because it is {'+'.join(sorted(node.states))}"
    return found, stays


def clean(cluster: Cluster, nodes: Iterable[Node], *, is_dry: bool) -> tuple[CleanResult, ...]:
    """Each node, read again before it is changed and after. A node that could not be changed keeps no other from it."""
    return tuple(_cleaned(cluster, node, is_dry=is_dry) for node in nodes)


def _cleaned(cluster: Cluster, node: Node, *, is_dry: bool) -> CleanResult:
    update, stays = update_of(node)
    if not (update or stays):
        return CleanResult("", is_clean=True)
    if is_dry:
        would = f"would write {shown(update)}" if update else ""
        return CleanResult(f"{node.name}: {'; '.join(filter(None, (would, stays)))}", is_clean=False)
    try:
        update, stays = update_of(cluster.show(node.name))
        if update:
            cluster.update(node.name, update)
        left, _ = update_of(cluster.show(node.name)) if update else ({}, "")
    except SlurmError as error:
        return CleanResult(f"{node.name}: {error}", is_clean=False)
    if not (update or stays):  # a person has changed it meanwhile
        return CleanResult("", is_clean=True)
    done = f"wrote {shown(update)}" if update else ""
    still = f"{shown(left)} is not done: does hostagent slurm health still run there?" if left else ""
    return CleanResult(f"{node.name}: {'; '.join(filter(None, (done, stays, still)))}", is_clean=not (left or stays))
