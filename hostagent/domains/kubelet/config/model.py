"""Inputs and result of the kubelet configuration model."""

from typing import NamedTuple

from hostagent.core.unread import Unread
from hostagent.domains.kubelet.config.states import StateFile
from hostagent.facts.kubelet import KubeletConfig, Pairs


class KubeletInputs(NamedTuple):
    """The command line, files and environment of one kubelet.

    `files` begins with the file of --config, where the flags name one; the drop-ins of --config-dir follow in the order of the walk
    (`read_files.py`). A file or directory that is missing or cannot be read is ``Unread`` in its place.
    """

    version: str | Unread  # 1.34.2, v1.31.1-eks-1234567
    flags: tuple[str, ...] | Unread  # the words after the program
    files: tuple[tuple[str, bytes | Unread], ...]  # path and content
    environment: tuple[tuple[str, str], ...] = ()  # variables that the kubelet itself reads


class MachineNode(NamedTuple):
    """One NUMA node as the kubelet sees it."""

    id: int
    memory_bytes: int | Unread
    hugepages: tuple[tuple[int, int], ...] | Unread  # bytes of a page, pages in total


class Machine(NamedTuple):
    """The machine and the state files as the kubelet finds them at its start."""

    nodes: tuple[MachineNode, ...] | Unread
    cpus: str | Unread  # cpulist of the CPUs that are online
    cores: tuple[str, ...] | Unread  # cpulists of the CPUs of each core
    cpu_state: StateFile | Unread  # cpu_manager_state; Unread("absent") where there is none
    memory_state: StateFile | Unread  # memory_manager_state


class Effective(NamedTuple):
    """The resulting configuration, or why the kubelet rejects it."""

    state: str | Unread  # accepted, rejected
    error: str | Unread  # why it would not start, "" otherwise
    config: KubeletConfig | Unread
    origin: Pairs | Unread  # by KubeletConfiguration's field: default, the file's path, or the flag
    judged_as: str | Unread  # "" by its own version's rules; newer, older: outside the tables; unknown
    refused_state_files: tuple[str, ...] | Unread  # cpu_manager_state, memory_manager_state
