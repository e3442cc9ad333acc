"""The group docker: its members use Docker without being root, and so have root's rights on the host."""

# `gpasswd` and not `usermod`, because it knows users of a directory; its exit code 3 on --delete (no member any more) is no
# failure. A docker group that only a directory has is not found.

import re

from hostagent.core.unread import need
from hostagent.plan.docker.refused import no_user
from hostagent.plan.model import PlanStep, Probe, Refusal, Run, Undo
from hostagent.plan.view import View

GROUP = "docker"
_ROOT = "root"
#: Names that are safe as arguments: no option, and no separator of /etc/group.
_NAME = re.compile(r"[^-\s:,/\x00-\x1f\x7f][^\s:,/\x00-\x1f\x7f]{0,255}")
#: Exit codes of gpasswd(1): the user is no member (any more), the group does not exist.
_NO_MEMBER = 3


def refused_user(view: View, user: str) -> tuple[Refusal, ...]:
    """Raises ``UnreadError``."""
    if user in ("", _ROOT):
        return ()
    if _NAME.fullmatch(user) is None:
        return (no_user(user),)
    accounts = need(view.accounts)
    is_known = user in need(accounts.users) or need(accounts.has_other_users)
    return () if is_known else (no_user(user),)


def group_step(view: View, user: str) -> tuple[PlanStep, ...]:
    """() without a user, and for root, which needs no group. Not every Docker brings the group. Raises ``UnreadError``."""
    if user in ("", _ROOT):
        return ()
    made = () if need(need(view.accounts).docker_group) else (Run(("groupadd", "--force", "--system", GROUP)),)
    return (
        PlanStep(
            "docker.group",
            "docker",
            "group",
            f"Add {user} to the group {GROUP}"[:80],
            f"members of {GROUP} use Docker without sudo, from their next login on; they have root's rights by it",
            Probe(f"{user} is in the group {GROUP}", lambda view: user in need(need(view.accounts).docker_members)),
            (*made, Run(("gpasswd", "--add", user, GROUP))),
            Undo(
                "run",
                f"{user} was not in it before",
                (Run(("gpasswd", "--delete", user, GROUP), codes=(0, _NO_MEMBER)),),
            ),
        ),
    )
