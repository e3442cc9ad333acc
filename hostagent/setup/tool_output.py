"""Outputs of this machine's tools, run as the script would run them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Answered:
    """One tool. `versions` is empty where it is missing, failed, hung, or printed no version; `problem` says which, "" for none."""

    tool: str  # nvidia-smi
    path: str = ""  # where the caller's PATH has it, "" nowhere
    versions: tuple[str, ...] = ()  # of nvidia-smi one of each GPU that answered with one
    problem: str = ""
    gpus: int = 0  # of nvidia-smi: the lines of -L, 0 where that failed; of kubectl: what is allocatable
    silent: tuple[str, ...] = ()  # of nvidia-smi: GPUs that it lists and that gave no version, "GPU 1"


@dataclass(frozen=True)
class Tools:
    """All tools; () and None where none was run: a snapshot, another root."""

    driver: Answered | None = None  # nvidia-smi
    cuda: Answered | None = None  # nvcc; `path` is the one that counts
    toolkit: tuple[Answered, ...] = ()  # dpkg-query, rpm, nvidia-ctk: in the script's order
    docker: Answered | None = None  # docker info; versions ("nvidia",) where its runtimes have that name
    kubernetes: Answered | None = None  # kubectl: `gpus` allocatable of this node, of all where its name is not known
