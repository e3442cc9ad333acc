"""The parts of the document as every form needs them: names, cells, amounts; what was not read is ``?`` and never an answer."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hostagent.core.text import counted, joined
from hostagent.core.unread import Unread
from hostagent.domains.topology.distance import CLASSES, class_of
from hostagent.outputs.digest import sentence, short
from hostagent.outputs.topology.document import Document, Found, Placeable

UNREAD = "?"
NO_FIX = "No change of the kubelet's policies or of the pod's own CPUs is known that admits it."
FIRST = "Correct what the kubelet refuses: 'hostagent check --only kubelet' has the steps."
#: Characters of a name, and of a list of CPUs.
_NAME, _CPUS = 40, 60
#: GPUs, and NICs, that are told of: JSON has all.
MOST = 128
#: Reasons for gaps of one kind.
_REASONS = 3
_UNITS = ((1024**4, "TiB"), (1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))


class Device(NamedTuple):
    """A GPU or a NIC, in words."""

    name: str
    pci: str
    node: str  # "?" where it was not read, "-1" where the firmware names none
    cpus: str
    link: str
    root: str  # the host bridge
    bridges: tuple[str, ...]
    known_as: str  # of a NIC its interfaces and RDMA devices


class Row(NamedTuple):
    """NUMA nodes that are alike, one mostly."""

    ids: str
    cpus: str
    memory: str
    distances: tuple[str, ...]


def rows(value: Any) -> list[dict[str, Any]]:
    """The rows of a part, none where it was not read."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def why(value: Any) -> str:
    """Why a part was not read, "" where it was."""
    return short(f"{value.get('detail') or value['unread']}") if isinstance(value, dict) and "unread" in value else ""


def said(value: Any, most: int = _NAME) -> str:
    return UNREAD if value is None or isinstance(value, dict | list) else short(str(value), most)


def devices(value: Any) -> tuple[Device, ...]:
    """By their place in the part. A name that two have, or none, gives way to the address."""
    found = rows(value)[:MOST]
    names = [said(one.get("name")) for one in found]
    return tuple(
        Device(
            name=name if name not in (UNREAD, "") and names.count(name) == 1 else said(one.get("pci")),
            pci=said(one.get("pci")),
            node=said(one.get("numa_node")),
            cpus=said(one.get("local_cpus"), _CPUS),
            link=_link(one.get("link")),
            root=said(one.get("root")),
            bridges=tuple(said(bridge) for bridge in one["bridges"]) if isinstance(one.get("bridges"), list) else (),
            known_as=_known_as(one),
        )
        for one, name in zip(found, names, strict=True)
    )


def nics(document: Document) -> tuple[Device, ...]:
    """The NICs that are told of: of a host with GPUs those with a distance, which virtual functions have not."""
    away = distances(document, "gpu_nic")
    known = {pci for row in away.values() if isinstance(row, dict) for pci in row} if isinstance(away, dict) else set[str]()
    found = devices(document.nics)
    return tuple(one for one in found if one.pci in known) if known and not why(away) else found


def _known_as(one: dict[str, Any]) -> str:
    """Of a NIC, its RDMA devices and interfaces but the one that it is called by."""
    names = [name for key in ("rdma", "netdevs") if isinstance(one.get(key), list) for name in one[key]]
    return ", ".join(said(name) for name in names if name != one.get("name"))


def _link(value: Any) -> str:
    """``x16 32.0 GT/s``, with what both ends could have where that is more."""
    if not isinstance(value, Mapping) or "unread" in value:
        return UNREAD
    now, most = ((value.get(f"width{end}"), value.get(f"speed{end}")) for end in ("", "_max"))
    if isinstance(now[0], dict) and isinstance(now[1], dict):
        return UNREAD
    could = f" of x{said(most[0])}" if isinstance(now[0], int) and isinstance(most[0], int) and now[0] < most[0] else ""
    return f"x{said(now[0])}{could} {said(now[1]).removesuffix(' PCIe')}"


def cell(part: Any, one: str, other: str) -> str:
    """The class of a pair."""
    if one == other:
        return "X"
    row = part.get(one) if isinstance(part, dict) else None
    return said(row.get(other)) if isinstance(row, dict) else UNREAD


def distances(document: Document, kind: str) -> Any:
    return document.distances.get(kind) if isinstance(document.distances, dict) else None


def gaps(document: Document) -> tuple[str, ...]:
    """What is missing and why, a sentence each."""
    parts = (("GPUs", "gpus"), ("NICs", "nics"), ("NUMA nodes", "numa_nodes"), ("Packages", "packages"))
    told = [f"{name} were not read: {text}" for name, part in parts if (text := why(getattr(document, part)))]
    told += [f"Ports were not read: {text}"] if (text := why(document.fabric) or why(_rdma(document))) else []
    reasons = dict.fromkeys(filter(None, _unknown(document))) if devices(document.gpus) else {}
    return (*(f"Distances are not known: {text}" for text in [*reasons][:_REASONS]), *told)


def _rdma(document: Document) -> Any:
    return document.fabric.get("rdma") if isinstance(document.fabric, dict) else None


def _unknown(document: Document) -> Iterator[str]:
    """Why distances are not known, of all of them, of one kind, of one GPU or of a pair."""
    yield why(document.distances)
    left = [distances(document, kind) for kind in ("gpu_gpu", *(("gpu_nic",) if rows(document.nics) else ()))]
    while left:
        one = left.pop(0)
        yield why(one)
        left += list(one.values()) if isinstance(one, dict) and "unread" not in one else ()


def legend(shown: set[str]) -> tuple[tuple[str, str], ...]:
    """What the classes mean that are shown, the nearest first."""
    known = {class_of(word) for word in shown}
    return (
        *((("X", "itself"),) if "X" in shown else ()),
        *((word, text) for word, text in CLASSES.items() if word in known),
        *(((UNREAD, "not known"),) if UNREAD in shown else ()),
    )


def amount(value: Any) -> str:
    """
    Bytes as people say them.

    >>> amount(137438953472), amount(0), amount({"unread": "denied", "detail": ""})
    ('128 GiB', 'no memory', '?')
    """
    if not isinstance(value, int):
        return UNREAD
    size, unit = next(((size, unit) for size, unit in _UNITS if value >= size), (1, "bytes"))
    return f"{value / size:.4g} {unit}" if value else "no memory"


def nodes(document: Document) -> tuple[Row, ...]:
    """NUMA nodes in their order; those without CPUs that are alike stand on one line."""
    made: dict[Any, tuple[list[str], Row]] = {}
    for one in rows(document.numa_nodes):
        name, cpus, memory = said(one.get("id")), said(one.get("cpus"), _CPUS), amount(one.get("memory_bytes"))
        far = tuple(map(said, one["distances"])) if isinstance(one.get("distances"), list) else ()
        key = name if cpus else ("no CPUs", memory)
        made.setdefault(key, ([], Row("", f"CPUs {cpus}" if cpus else "no CPUs", memory, far)))[0].append(name)
    return tuple(row._replace(ids=ranges(ids), distances=row.distances if len(ids) == 1 else ()) for ids, row in made.values())


def ranges(ids: list[str]) -> str:
    """
    Ids as the kernel writes lists of them; what is no number stands by itself.

    >>> ranges(["2", "3", "4", "9", "?"])
    '2-4,9,?'
    """
    made: list[list[str]] = []
    for one in ids:
        if made and one.isdecimal() and made[-1][-1].isdecimal() and int(one) == int(made[-1][-1]) + 1:
            made[-1][1:] = [one]
        else:
            made.append([one])
    return ",".join("-".join(span) for span in made)


def size_line(document: Document) -> str:
    """``2 packages, 18 NUMA nodes, 4 GPUs, 4 NICs``; what was not read is left out."""
    parts = ((document.packages, "package"), (document.numa_nodes, "NUMA node"), (document.gpus, "GPU"), (document.nics, "NIC"))
    return ", ".join(counted(len(rows(part)), word) for part, word in parts if isinstance(part, list))


def capacity_line(document: Document) -> str:
    """How many GPUs one NUMA node has for a pod."""
    told = document.capacity if isinstance(document.capacity, dict) else {}
    total, free, restricted = (told.get(f"max_gpus_{name}") for name in ("single_numa_total", "single_numa_free", "restricted_free"))
    if not isinstance(total, int) or not total:
        return ""
    parts = [f"one NUMA node has at most {counted(total, 'GPU')}"]
    parts += [f"{free} free"] if isinstance(free, int) else []
    parts += [f"the restricted policy admits a pod of up to {counted(restricted, 'GPU')}"] if isinstance(restricted, int) else []
    return ", ".join(parts)


def told(one: Found) -> str:
    """The headline of a finding, with its device where that does not name it."""
    headline, device = short(one.headline), short(one.device, 100)
    return headline if not device or device in headline else f"{device}: {headline}"


def pod_name(one: Placeable) -> str:
    """What was asked about."""
    return f"{short(one.shape)}{' (all GPUs)' if 'gpus=0' in one.shape.split(',') else ''}"


def answer(one: Placeable) -> tuple[str, str]:
    """(ADMITTED, REJECTED or NOT KNOWN; why in a sentence)."""
    how = f"policy {_word(one.policy)}, scope {_word(one.scope)}"
    if isinstance(one.admitted, Unread):
        return "NOT KNOWN", short(one.admitted.detail or one.admitted.why)
    if not one.admitted:
        message = sentence(short(one.message))
        return "REJECTED", " ".join(part for part in (message, f"{short(one.reason, _NAME)} ({how})." if one.reason else "") if part)
    aligned = "" if isinstance(one.aligned, Unread) else ", aligned" if one.aligned else ", not aligned by any guarantee"
    more = short(one.message).partition(". ")[2]  # what is to be known of an admission, after where the pod starts
    return "ADMITTED", f"{_nodes(one.numa_nodes)}{aligned} ({how}){f'. {more}' if more else ''}"


def _word(value: Any) -> str:
    return "not known" if isinstance(value, Unread) else short(str(value), _NAME)


def _nodes(value: tuple[int, ...] | Unread) -> str:
    if isinstance(value, Unread):
        return "on NUMA nodes that are not known"
    if not value:
        return "on any NUMA nodes"
    ids = list(map(str, value))
    return f"on NUMA node{'s' if len(ids) > 1 else ''} {joined(ids)}"


def without_fix(one: Any) -> str:
    """What is said of a rejected pod for which there are no steps."""
    return FIRST if one.reason == "KubeletNotStarting" else NO_FIX
