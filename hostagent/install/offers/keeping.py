"""Packages that an installation will replace, fetched while their repository still has them."""

from collections.abc import Iterable

from hostagent.core.unread import Unread
from hostagent.install.offers.session import Host, Session
from hostagent.plan.model import Operation
from hostagent.plan.offers import RefreshFault


def fetch(host: Host, operations: Iterable[Operation], packages: Iterable[tuple[str, str]], folder: str) -> "RefreshFault | Unread | None":
    """Leave the files of these packages, each at its version, in `folder` of this machine: from the repositories of the target and those
    that `operations` add, refreshed. One that no repository has is missing afterwards.
    """
    session = Session(host, kept=folder)
    try:
        return session.fetch(operations, packages)
    finally:
        session.close()
