"""The operating system."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread


@frozen
class Os:
    """The distribution. ``id`` and ``version_id`` are os-release's words (os-release(5))."""

    id: str | Unread
    version_id: str | Unread
    pretty_name: str | Unread
    arch: str | Unread  # uname -m: x86_64, aarch64; of an image: from its ELF loader
    selinux: str | Unread  # enforcing, permissive, disabled
    selinux_container_devices: bool | Unread  # the boolean container_use_devices


@frozen
class Ancestry:
    """The distributions that this one derives from. Read by ``setup``, ``plan``, ``install`` and ``snapshot save``, never by ``check``."""

    id_like: str | Unread  # os-release's ID_LIKE: "ubuntu debian"; "" without one
