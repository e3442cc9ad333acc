"""Lists the kinds of data in a snapshot, for a review before it is passed on."""

from hostagent.host.recording import Tape

#: Methods and kinds of answers (`hostagent.snapshot.keeping`), in a person's words.
_THINGS = (
    ("names, owners and times of files and directories", ("list", "stat", "readlink", "realpath", "statvfs", "volume", "nothing")),
    ("packages, where they come from and what holds them", ("apt.conf", "sources.list", "sources.deb822", "stanzas", "dpkg", "keyring",
                                                            "beginnings", "rows", "repositories", "ld.so.cache")),
    ("settings of systemd units, of the boot and of modules", ("unit", "settings", "words", "keys", "modinfo", "elf")),
    ("settings of container runtimes, CDI specifications", ("toml", "json", "yaml")),
    ("what the kubelet is told, which devices, CPUs and memory it has given away", ("kubelet", "flags", "state_file", "podresources",
                                                                                     "configz")),
    ("daemons, where their configuration is, and their sockets", ("arguments", "paths", "processes", "sockets")),
    ("lines of logs, with names of processes that hung or were killed", ("messages", "matches", "log", "first", "kernel_log",
                                                                         "kernel_words", "tail")),
    ("words and numbers of the kernel, and of its devices", ("read", "mounts", "mount table", "head", "whole")),
    ("what NVML says of GPUs", ("nvml",)),
    ("programs that hold a GPU's device open, numbers of running containers, keys that modules are signed with", ("gpu_users", "shims",
                                                                                                                   "enrolled")),
    ("network interfaces, their addresses and priorities, ports of RDMA devices and their GIDs", ("network", "rdma")),
    ("settings of NCCL", ("nccl.conf", "environment")),
    ("how PCI devices and the bridges above them are set up", ("pci_controls",)),
    ("version, interfaces and needs of NCCL's libraries", ("nccl_library",)),
    ("name, kernel and clock of the host", ("host", "os_release")),
)  # fmt: skip


def things(tape: Tape) -> "tuple[str, ...]":
    """In a fixed order; of answers that hold something."""
    held = {_kind(asked, answer) for asked, answer in tape.answers.items() if not (isinstance(answer, dict) and "unread" in answer)}
    return tuple(words for words, kinds in _THINGS if held.intersection(kinds))


def _kind(asked: str, answer: object) -> str:
    kept = answer.get("kept") if isinstance(answer, dict) else None
    return str(kept[0]) if isinstance(kept, list) and kept else asked.partition(" ")[0]
