"""Who may use Docker without being root."""

from hostagent.facts.frozen import frozen
from hostagent.facts.unread import Unread


@frozen
class Accounts:
    """The group ``docker`` of the host's own files. Read by ``plan``, ``install`` and ``snapshot save``, never by ``check``."""

    docker_group: bool | Unread  # /etc/group has it
    docker_members: tuple[str, ...] | Unread  # names in it, sorted; () without the group
