"""Filters of texts that are read line by line. Each takes the bytes of an answer and the names that are kept; bytes again."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from hostagent.core.secret.names import without_secrets
from hostagent.snapshot.flagwords import typed_text

Mask = Callable[[str], str]


def _text(data: bytes) -> str:
    """What is no UTF-8 stays as it is: readers decode it themselves."""
    return data.decode("utf-8", "surrogateescape")


def _joined(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def settings(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    r"""Lines ``NAME=…``, ``NAME: …`` and ``NAME …``, in either case; headings of sections and empty lines between them.

    >>> settings(b"[main]\nproxy_password=x\nExclude = nvidia*\n", ("exclude",), str)
    b'[main]\nExclude = nvidia*\n'
    """
    known = "|".join(map(re.escape, names))
    line = re.compile(rf"[ \t]*(?:export[ \t]+)?(?:{known})[ \t]*[=: \t].*|[ \t]*\[[^\]\n]*\]|[ \t]*\Z", re.IGNORECASE)
    kept = (found[0] for text in _text(data).splitlines() if (found := line.match(text)))
    return _joined("" if is_blank else one for is_blank, same in groupby(kept, key=_is_blank) for one in (("",) if is_blank else same))


def _is_blank(line: str) -> bool:
    return not line.strip(" \t")


def matches(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    r"""What the patterns match, in the order of the text; of a pattern with a group called ``keep``, that group.

    >>> matches(b"a 1\nb 2\nc 3\n", ("^c .", "^a (?P<keep>.)"), str)
    b'1\nc 3\n'
    """
    return _joined(_matched(_text(data), names, at_most=0))


def log(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    """The same, without the secrets in it: no reader shows them either."""
    return _joined(map(without_secrets, _matched(_text(data), names, at_most=0)))


def first(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    """The same, but only the first match of each pattern."""
    return _joined(map(without_secrets, _matched(_text(data), names, at_most=1)))


def _matched(text: str, names: tuple[str, ...], at_most: int) -> Iterator[str]:
    spans: list[tuple[int, int]] = []
    for name in names:
        group = "keep" if "(?P<keep>" in name else 0
        for number, found in enumerate(re.finditer(name, text, re.MULTILINE), 1):
            spans.append(found.span(group))
            if number == at_most:
                break
    ends = -1
    for start, end in sorted(spans):
        if start >= ends:
            ends = end
            yield text[start:end]


def words(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    r"""Words ``NAME=VALUE`` of one line.

    >>> words(b"root=/dev/sda1 rootpw=x modprobe.blacklist=nouveau quiet\n", ("modprobe.blacklist",), str)
    b'modprobe.blacklist=nouveau\n'
    """
    return _joined([" ".join(word for word in _text(data).split() if word.partition("=")[0] in names)])


def beginnings(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    """Lines that begin with a name."""
    return _joined(line for line in _text(data).splitlines() if line.startswith(names))


def rows(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    """Lines with a name as first column, up to a tab; as packages list paths, with /usr before them or not."""
    wanted = {name.removeprefix("/usr") for name in names}
    return _joined(line for line in _text(data).splitlines() if line.partition("\t")[0].removeprefix("/usr") in wanted)


def head(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    """The first bytes."""
    return data[: max(map(int, names))]


def mounts(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    r"""Where and of which type are the filesystems that hold the named paths (proc_pid_mounts(5)).

    >>> mounts(b"//nas/x /mnt cifs rw,username=a 0 0\n/dev/sda1 / ext4 rw 0 0\n", ("/usr",), str)
    b'- / ext4\n'
    """
    fields = (line.split(" ") for line in _text(data).splitlines())
    found = ((one[1], one[2]) for one in fields if len(one) > 2)
    return _joined(f"- {place} {kind}" for place, kind in found if any(f"{name}/".startswith(f"{place.rstrip('/')}/") for name in names))


def mount_table(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    r"""As `mounts`, of /proc/PID/mounts or of fstab(5), with the device where it is one and the named options.

    Names that begin with a slash are paths, others are options.

    >>> mount_table(b"//nas/x /mnt cifs ro,username=a 0 0\n/dev/sda1 / ext4 ro,seclabel 0 0\n", ("/usr", "ro", "rw"), str)
    b'/dev/sda1 / ext4 ro 0 0\n'

    Octal escapes of white space are resolved to compare, and kept.

    >>> mount_table(b"/dev/sdb1 /data\\040disk xfs ro 0 0\n", ("/data disk/docker", "ro"), str)
    b'/dev/sdb1 /data\\040disk xfs ro 0 0\n'
    """
    options = frozenset(name for name in names if not name.startswith("/"))
    paths = [f"{name}/" for name in names if name.startswith("/")]
    fields = (line.split() for line in _text(data).splitlines() if not line.lstrip().startswith("#"))
    found = (one for one in fields if len(one) > 3 and any(path.startswith(f"{_unescaped(one[1]).rstrip('/')}/") for path in paths))
    return _joined(f"{_device(one[0])} {one[1]} {one[2]} {_options(one[3], options)} 0 0" for one in found)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(040|011|012|134)", lambda found: chr(int(found[1], 8)), text)


def _device(text: str) -> str:
    return text if re.fullmatch(r"/dev/[\w./-]{1,100}", text, re.ASCII) else "-"


def _options(text: str, names: frozenset[str]) -> str:
    return ",".join(option for option in text.split(",") if option in names) or "-"


def unit(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    r"""The named assignments of a unit (systemd.syntax(7)), with the lines they go on in, and the headings of their sections.

    Of ``Section.Key?FLAG`` the flags that are named so, with the word behind each. Of ``Section.Key@FLAG`` all words, as
    `hostagent.snapshot.flagwords` keeps them.

    >>> unit(b"[Service]\nExecStart=/usr/bin/kubelet --token x --config=/a\n", ("Service.ExecStart?--config",), str)
    b'[Service]\nExecStart=- --config=/a\n'

    >>> unit(b"[Service]\nEnvironment=TOKEN=x \\\n  LimitMEMLOCK=1\nLimitMEMLOCK=2 \\\n # y\n\n", ("Service.LimitMEMLOCK",), str)
    b'[Service]\nLimitMEMLOCK=2 \\\n\n'
    """
    shown: list[str] = []
    section, pending = "", list[str]()
    sections = {name.partition(".")[0] for name in names}
    for raw in _text(data).split("\n"):
        line = raw.strip()
        if line.startswith(("#", ";")):
            continue
        pending.append(raw)
        if line.endswith("\\"):
            continue
        if len(pending) == 1 and line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
            shown += [line] * (section in sections)
        elif _is_kept(section, pending, names):
            shown += pending
        else:
            shown += _flags_of(section, pending, names)
        pending = []
    return _joined([*shown, *(pending if _is_kept(section, pending, names) else ())])


def _flags_of(section: str, pending: "list[str]", names: tuple[str, ...]) -> "list[str]":
    key, _, value = " ".join(line.strip().removesuffix("\\") for line in pending).partition("=")
    whole = f"{section}.{key.strip()}@"
    if kept := tuple(name.removeprefix(whole) for name in names if name.startswith(whole)):
        return [f"{key.strip()}={typed_text(value.strip(), kept)}"]
    start = f"{section}.{key.strip()}?"
    flags = [re.escape(name.removeprefix(start)) for name in names if name.startswith(start)]
    if not flags:
        return []
    found = re.findall(rf"(?<![\w-])(?:{'|'.join(flags)})[=\s]\s*[^\s\"']+", value)
    return [f"{key.strip()}={' '.join(['-', *found]) if value.strip() else ''}"]


def _is_kept(section: str, pending: "list[str]", names: tuple[str, ...]) -> bool:
    key = " ".join(line.strip().removesuffix("\\") for line in pending).partition("=")[0]
    return f"{section}.{key.strip()}" in names
