"""Users that may use Docker without being root."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread


@frozen
class Accounts:
    """The group ``docker`` and the users of the host's own files. Read by ``plan`` and ``install``, never by ``check``; on no tape."""

    docker_group: bool | Unread  # /etc/group has it
    docker_members: tuple[str, ...] | Unread  # names in it, sorted; () without the group
    users: tuple[str, ...] | Unread  # names in /etc/passwd, sorted
    has_other_users: bool | Unread  # nsswitch.conf has other sources, such as sss and ldap: a user may exist that is not in `users`
