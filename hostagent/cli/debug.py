"""``--debug``: a line per question to a host, on standard error; never its answer, which may be a secret."""

from collections.abc import Callable

from hostagent.cli.streams import complain

#: By method, what answers; all others are answered by files.
_SOURCES = {
    **dict.fromkeys(("processes", "sockets", "gpu_users", "shims"), "process"),
    **dict.fromkeys(("podresources", "configz"), "kubelet"),
    **dict.fromkeys(("host", "adjtimex", "kernel_log", "kernel_words"), "kernel"),
    "enter": "root",
    "enrolled": "firmware",
    "environment": "environment",
    "network": "netlink",
    "nvml": "nvml",
    "pci_controls": "pci",
    "run": "program",
}
_VERBS = ("verbs", "library")
#: Characters of a question: one may name hundreds of addresses.
_CHARS = 300


def shown(*, is_recorded: bool) -> Callable[[tuple[str, ...], str, float], None]:
    """An `hostagent.engine.collection.OnAnswer`: prints ``debug: ok 0.2 ms file read /proc/version``. `is_recorded`: a tape answers."""

    def show(asked: tuple[str, ...], how: str, took_s: float) -> None:
        source = "recorded" if is_recorded else source_of(asked)
        complain(f"debug: {how:<13} {took_s * 1000:>8.1f} ms  {source:<8}  {_cut(' '.join(asked))}")

    return show


def source_of(asked: tuple[str, ...]) -> str:
    """What answers a question.

    >>> source_of(("read", "/proc/version")), source_of(("nvml", "init")), source_of(("rdma", "verbs", "mlx5_0", "1"))
    ('file', 'nvml', 'verbs')
    """
    if asked[0] == "rdma":
        return "verbs" if asked[1] in _VERBS else "sysfs"
    return _SOURCES.get(asked[0], "file")


def _cut(question: str) -> str:
    return question if len(question) <= _CHARS else f"{question[:_CHARS]}..."
