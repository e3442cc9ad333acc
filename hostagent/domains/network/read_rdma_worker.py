"""The RDMA worker: reads below /sys/class/infiniband, and libibverbs. Each of these reads may query a card's firmware.

Questions, as ``source.rdma(…)`` asks them and a recording keeps them (``rdma port mlx5_0 1``). A VALUE is the text in sysfs, or
``{"unread": [why, detail]}``::

    devices             names below /sys/class/infiniband
    device NAME         {"pci", "driver", "virtual_of": VALUE, "manages_nvlink": true, false or unread, "node_type", "fw_ver",
                        "board_id", "hca_type", "node_guid", "node": VALUE, "ports": ["1"] or unread, "link_policy": {PORT: VALUE},
                        "netdevs": [[NAME, dev_port, a number or unread]] or unread}
    port NAME NUMBER    {"state", "phys_state", "rate", "link_layer", "lid", "sm_lid": VALUE, "pkeys": [[INDEX, VALUE]] or unread,
                        "gids": [[INDEX, GID, type VALUE, interface VALUE]] or unread, "link_downed", "traffic_class": VALUE}
    verbs NAME NUMBER   {"state", "max_mtu", "active_mtu"}: the numbers of ibv_query_port(3)
    library             {"path", "dmabuf"}: libibverbs as it was loaded, and whether it has ibv_reg_dmabuf_mr(3)

Empty slots of GID and P_Key tables are left out. Of a function that manages an NVLink 5 switch, or may be one, no port is read.
The description is light; what it needs is imported in the worker.
"""

from collections.abc import Mapping

from hostagent.core.answers import MIB, Answer
from hostagent.core.unread import Unread
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.host.worker_reading import read_lane
from hostagent.sandbox.worker_spec import Ask, Lane, Rights, allowed_s

_DEVICES = "/sys/class/infiniband"


def _is_wanted(path: str) -> bool:
    return False


def _idle(files: Files) -> "Mapping[tuple[str, ...], Answer | Unread] | None":
    """A host without RDMA devices needs no worker: the kernel's list, which asks no firmware, is the whole answer."""
    names = files.list(_DEVICES)
    if isinstance(names, Unread) and names.why != "absent":
        return {("rdma", "devices"): names, ("rdma", "library"): names}
    return {("rdma", "devices"): []} if isinstance(names, Unread) or not names else None


def _ask_all(ask: Ask, files: Files, root: Root) -> "Unread | None":
    from hostagent.domains.network import read_rdma_sysfs

    return read_rdma_sysfs.answer_all(ask, files, root, RIGHTS)


def _lock(root: Root, ends: float) -> "Unread | None":
    from hostagent.host.worker_locks import hold

    return hold("rdma", "ib_core", root, ends)


def _end() -> None:
    """Each device was closed as soon as its ports were asked."""


#: What libibverbs needs, and what it does not: docs/adr/0007-libibverbs-in-a-sandbox.md.
RIGHTS = Rights(
    capabilities=(),
    sockets=False,
    driver="infiniband",
    major=-1,
    opens=r"infiniband/uverbs\d+",
    reads=(
        *("/proc", "/sys", "/usr", "/lib", "/lib64", "/opt", "/nix/store", "/gnu/store"),
        *("/etc/ld.so.cache", "/etc/libibverbs.d"),
    ),
    data=(),
    memory_bytes=4 * 1024 * MIB,
    files=1024,
    numbers="/sys/class/infiniband_verbs",  # not those of management datagrams, which have the same major number
)

RDMA = Lane(
    name="rdma",
    methods=("rdma",),
    directories=(),
    is_wanted=_is_wanted,
    lock=_lock,
    allowed_s=allowed_s,
    rights=RIGHTS,
    ask_all=_ask_all,
    end=_end,
    read=read_lane,
    idle=_idle,
)
