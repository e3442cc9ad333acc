"""Which platform a host is, by two marks, what it runs in, and whose its parts are."""

# If many hosts have the id (ubuntu, amzn), the mark is a file with content, and the board has no other maker. A container with a
# system of its own (LXC, Incus, nspawn) is known by /run/systemd/container and by process 1 not being in the first PID namespace.
# /.dockerenv is left behind on hosts too: where kernel threads are seen (/proc/2/stat, PF_KTHREAD) it is no container. A
# container without its manager's mark is taken for a host. WSL2 and Jetson have no known place; Thor is treated like Orin.

from collections.abc import Callable
from typing import Any

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.tables.platforms import (
    CONTAINER_FILE,
    CONTAINERS,
    FIRST_NAMESPACE,
    HOSTS_FILE,
    IN_CONTAINERS,
    KUBELET_PLACES,
    KUBELETS_HOSTS,
    NOWHERE,
    OPERATOR_DRIVER,
    OPERATOR_TOOLKIT,
    OPERATORS_MARK,
    ROWS,
    PlatformRow,
)
from hostagent.core.unread import NOT_THERE, Unread, need, then
from hostagent.core.vocabulary import Virtual
from hostagent.domains.system.distributions import is_virtual
from hostagent.domains.system.read_os import RELEASE, word_of
from hostagent.facts.os import Os
from hostagent.facts.platform import Part, Platform
from hostagent.host.source import Source
from hostagent.host.values import line_in, names_in

_SECOND = Keep("matches", (r"^2 \(.*\) (?P<keep>\S(?: -?[0-9]{1,12}){6})",))
_HOSTS = Keep("matches", (rf"^{KUBELETS_HOSTS}",))
_ORDINARY = PlatformRow("", "host", (), (), owner="host", others="host")


def read_platform(source: Source, known: Callable[[type], Any]) -> Platform:
    row, operator = _row(source, known(Os)), _operator(source)

    def part(name: str, operators: str, place: Callable[[PlatformRow], Part]) -> "Part | Unread":
        own = then(row, place)
        if isinstance(own, Unread) or own.place == NOWHERE:  # the Operator makes no place known
            return own
        return then(operator, lambda names: Part(operators, "operator") if name in names else own)

    return Platform(
        name=then(row, lambda one: one.name),
        base=then(row, lambda one: one.base),
        virtual=_virtual(source),
        contained=_is_contained(source),
        operator=operator,
        gpus=then(row, lambda one: Part(one.gpus, "host")),
        driver=part("driver", OPERATOR_DRIVER, lambda one: Part(one.driver, one.owner)),
        libraries=part("driver", OPERATOR_DRIVER, lambda one: Part(one.libraries, one.owner)),
        toolkit=part("toolkit", OPERATOR_TOOLKIT, lambda one: Part("", one.others)),
        runtime=part("toolkit", "", lambda one: Part("", one.others)),
        kubelet=_kubelet(source, row),
        rdma=_rdma(source, row),
        library_directories=then(row, lambda one: one.directories),
        firmware_directories=then(row, lambda one: one.firmware),
        module_archives=then(row, lambda one: _archives(source, *one.archives)),
    )


@stops_at_unread
def _kubelet(source: Source, row: "PlatformRow | Unread") -> Part:
    """A platform's own place; else that of a distribution of Kubernetes, by its directory."""
    own = need(row)
    if own.name:
        return Part(own.kubelet, own.kubelet_owner or own.others)
    return Part(next((place for place in KUBELET_PLACES if need(source.exists(place))), ""), "host")


@stops_at_unread
def _rdma(source: Source, row: "PlatformRow | Unread") -> Part:
    """The Network Operator's driver container replaces modules of the kernel, and says so when it has."""
    if need(_is_here(source, OPERATORS_MARK)):
        return Part(OPERATORS_MARK.rpartition("/")[0], "operator")
    return Part("", need(row).others)


def _is_here(source: Source, path: str) -> "bool | Unread":
    """False in an image where only a running host has it."""
    found = source.exists(path)
    return False if isinstance(found, Unread) and found.why in NOT_THERE else found


@stops_at_unread
def _row(source: Source, os: "Os | Unread") -> PlatformRow:
    """The thing in its place is asked for where the system says that it is of the platform: most hosts are of none."""
    release = _kernel(source)
    for row in ROWS:
        says_so = row.kernel in need(release) if row.kernel else need(need(os).id) in row.ids and _is_variant(source, row)
        if says_so and any(_is_there(source, path, row) for path in row.paths) and _is_board(source, row):
            return row
    return _ORDINARY


def _is_variant(source: Source, row: PlatformRow) -> bool:
    return not row.variant or need(word_of(source.os_release(keep=RELEASE), "variant_id", "")) == row.variant


def _is_board(source: Source, row: PlatformRow) -> bool:
    """No other maker's; an image runs on no board, and some boards do not say."""
    if not row.vendor:
        return True
    vendor = _board(source, "sys_vendor")
    if isinstance(vendor, Unread) and vendor.why == "not-running":
        return True
    return not need(vendor) or need(vendor).startswith(row.vendor)


def _is_there(source: Source, path: str, row: PlatformRow) -> bool:
    """Not what only a running host has, in an image; raises ``UnreadError`` where nobody could look."""
    found = source.stat(path)
    if isinstance(found, Unread) and found.why in NOT_THERE:
        return False
    stat = need(found)
    return not row.is_common or (stat.kind == "file" and stat.size > 0)


@stops_at_unread
def _archives(source: Source, directory: str, unit: str) -> tuple[str, ...]:
    """Those with bytes in them; none where nothing installs one."""
    if not directory or not need(source.exists(unit)):
        return ()
    folders = [f"{directory}/{name}" for name in need(names_in(source, directory))]
    paths = [f"{folder}/{name}" for folder in folders for name in need(names_in(source, folder)) if name.endswith(".dkms.tar.gz")]
    return tuple(path for path in paths if need(source.stat(path)).size > 0)


def _kernel(source: Source) -> "str | Unread":
    """The release that runs, "" in an image."""
    host = source.host()
    return host if isinstance(host, Unread) else str(host.get("release") or "")


def _board(source: Source, name: str) -> "str | Unread":
    """Absent: a board without DMI tables."""
    return line_in(source, f"/sys/class/dmi/id/{name}", absent="")


@stops_at_unread
def _virtual(source: Source) -> Virtual:
    """A container by its manager's word and the kernel's; a virtual machine by the board."""
    word = line_in(source, CONTAINER_FILE, absent="")
    if need(word) in CONTAINERS and need(source.readlink("/proc/1/ns/pid")) != FIRST_NAMESPACE:
        return "container"
    return "vm" if is_virtual(need(_board(source, "sys_vendor")), need(_board(source, "product_name"))) else ""


@stops_at_unread
def _is_contained(source: Source) -> bool:
    """Processes that are numbered on their own, and a mark of a container: a host made of a container's files has a mark, too."""
    second = source.text("/proc/2/stat", keep=_SECOND, absent="")
    if not isinstance(second, Unread) and is_kernel_thread(second):
        return False
    hosts = source.text(HOSTS_FILE, keep=_HOSTS, absent="")
    is_marked = any(need(_is_here(source, path)) for path in IN_CONTAINERS)
    if not is_marked and not any(line.startswith(KUBELETS_HOSTS) for line in need(hosts).splitlines()):
        return False
    return not is_kernel_thread(need(second))


def is_kernel_thread(text: str) -> bool:
    """Whether /proc/PID/stat is a kernel thread's (proc_pid_stat(5), flags): process 2 is one, and is seen in the first namespace alone.

    >>> is_kernel_thread("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0"), is_kernel_thread("2 (sh) S 1 2 1 0 -1 4194304 0"), is_kernel_thread("")
    (True, False, False)
    """
    fields = text.rpartition(")")[2].split()
    return len(fields) > 6 and fields[6].isdecimal() and bool(int(fields[6][:12]) & 0x00200000)


@stops_at_unread
def _operator(source: Source) -> tuple[str, ...]:
    """A root file system where the driver container mounts its own, its toolkit where a pod puts it. A link is the host's own."""
    names: list[str] = []
    if isinstance(source.readlink(OPERATOR_DRIVER), Unread) and "usr" in need(names_in(source, OPERATOR_DRIVER)):
        names.append("driver")
    if any(one.startswith("libnvidia-container.so") for one in need(names_in(source, OPERATOR_TOOLKIT))):
        names.append("toolkit")
    return tuple(names)
