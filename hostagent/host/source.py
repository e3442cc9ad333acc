"""Questions and answers between readers and a host.

Every question is ``ask(method, *arguments)``; every answer is JSON (or bytes) or an ``Unread``. So a tape is a
mapping from questions to answers, and live, image, recorded and replayed hosts differ only in their backend.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from hostagent.core.answers import KIB, MIB, Answer, Completed, Disk, Elf, NcclFile, Space, Stat, shaped, unexpected
from hostagent.core.retention import Filtered, Keep, usable, within_limit
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Kind
from hostagent.host.budget import Budget
from hostagent.host.policy import Policy, is_unavailable, not_asked

_UNASKED: Answer = object()  # marks a question that was not asked yet
_LIMITED = frozenset({"read", "tail"})
#: Questions to the RDMA lane that libibverbs answers; the others sysfs does.
_OF_VERBS = frozenset({"verbs", "library"})
#: Ten thousand years in seconds: the limit for times of clocks and tapes.
MAX_TIME = 3e11
#: Fields of `Source.host` that are no text.
_HOST_KEYS: Mapping[str, Any] = {"now": (int, float), "uid": int, "simulated": bool}


class Backend(Protocol):
    """Answers questions about one host. Never raises for a fault of the host: that is an ``Unread``."""

    @property
    def kind(self) -> Kind: ...

    def ask(self, method: str, *arguments: str) -> "Answer | Unread": ...


class Source:
    """Typed questions. Paths are absolute paths of the host, whatever root it is mounted at.

    One source is one pass: each question goes to the backend once, so that two readers get the same answer.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        policy: Callable[[], Policy] = Policy,
        cached: "Mapping[tuple[str, ...], Answer | Unread]" = MappingProxyType({}),
        on_answer: "Callable[[tuple[str, ...], Answer | Unread], None]" = lambda *_: None,
    ) -> None:
        """`policy` is called only where it matters, as when NVML is unavailable: the profile may be loaded while the host is read.
        `cached`: answers that this pass already has. `on_answer` is called with every new answer: a tape consists of them.
        """
        self._backend = backend
        self._policy = policy
        self._answers: dict[tuple[str, ...], Answer | Unread] = {}
        self._on_answer = on_answer
        self._cached = cached
        #: The I/O budget, by fact.
        self.budget = Budget()
        #: By question, the parts of the answer that its readers use: a snapshot keeps them.
        self.keeps: dict[tuple[str, ...], list[Keep]] = {}
        #: The last question, as on a tape: the current one when the time is up.
        self.question = ""

    @property
    def kind(self) -> Kind:
        """The kind of host; of a replayed tape that of the recorded host."""
        return self._backend.kind

    def _ask(self, *question: str, keep: Keep | None = None) -> "Answer | Unread":
        """`keep`: the names that are read of the answer; a filtered answer is returned only if it has every name in `keep`."""
        if keep is not None:
            self.keeps.setdefault(question, []).append(keep)
        answer = self.answer(question)
        return usable(answer, keep, " ".join(question)) if type(answer) is Filtered else answer

    def answer(self, question: tuple[str, ...]) -> "Answer | Unread":
        """The unfiltered answer, which `hostagent.engine.fact_cache` compares."""
        share = self.budget.share
        share.asked.append(question)
        answer = self._answers.get(question, _UNASKED)
        if answer is _UNASKED:
            if share.over is not None:
                return share.over
            self.question = " ".join(question)
            answer = self._fetch(question)
            if isinstance(answer, Unread) and not answer.question:
                answer = Unread(answer.why, answer.detail, self.question)
            self._answers[question] = answer
        return answer

    def _fetch(self, question: tuple[str, ...]) -> "Answer | Unread":
        if question in self._cached:
            return self.budget.charge(question, self._cached[question])
        answer = self._backend.ask(*question)
        if question[0] in _LIMITED:
            answer = within_limit(answer, int(question[2]) if len(question) > 2 else MIB, question[1])
        answer = self.budget.charge(question, answer)
        self._on_answer(question, answer)
        return answer

    def read(self, path: str, limit: int = MIB, *, keep: Keep | None = None) -> "bytes | Unread":
        """The whole of a regular file; larger than `limit` bytes is an error, never truncated. `keep`: the parts of it that are used."""
        answer = self._ask("read", path, keep=keep) if limit == MIB else self._ask("read", path, str(limit), keep=keep)
        return answer if isinstance(answer, (bytes, Unread)) else unexpected("read", path, answer)

    def text(self, path: str, limit: int = MIB, *, keep: Keep | None = None, absent: "str | None" = None) -> "str | Unread":
        """`read`, decoded: UTF-8, undecodable bytes as U+FFFD. `absent`: the value for a missing file."""
        answer = self.read(path, limit, keep=keep)
        if isinstance(answer, bytes):
            return answer.decode("utf-8", "replace")
        return absent if absent is not None and answer.why == "absent" else answer

    def tail(self, path: str, limit: int = 256 * KIB, *, keep: Keep | None = None) -> "str | Unread":
        """The last `limit` bytes of a regular file of any size, from the first whole line."""
        answer = self._ask("tail", path, str(limit), keep=keep)
        if isinstance(answer, bytes):
            return answer.decode("utf-8", "replace")
        return answer if isinstance(answer, Unread) else unexpected("tail", path, answer)

    def listdir(self, path: str, *, absent: "tuple[str, ...] | None" = None) -> "tuple[str, ...] | Unread":
        """Names in a directory, sorted. `absent`: the value for a missing directory."""
        answer = self._ask("list", path)
        if isinstance(answer, list) and all(isinstance(name, str) for name in answer):
            return tuple(answer)
        if absent is not None and isinstance(answer, Unread) and answer.why == "absent":
            return absent
        return answer if isinstance(answer, Unread) else unexpected("list", path, answer)

    def stat(self, path: str) -> "Stat | Unread":
        answer = self._ask("stat", path)
        return answer if isinstance(answer, Unread) else shaped(Stat, "stat", path, answer)

    def exists(self, path: str) -> "bool | Unread":
        """Whether `path` exists; unread where that is unknown."""
        found = self.stat(path)
        if isinstance(found, Unread):
            return False if found.why == "absent" else found
        return True

    def readlink(self, path: str) -> "str | Unread":
        """The text of a symbolic link, unresolved. Not a link: absent."""
        answer = self._ask("readlink", path)
        return answer if isinstance(answer, str | Unread) else unexpected("readlink", path, answer)

    def realpath(self, path: str) -> "str | Unread":
        """`path` with every link resolved inside the host's root, as a path of the host."""
        answer = self._ask("realpath", path)
        return answer if isinstance(answer, str | Unread) else unexpected("realpath", path, answer)

    def statvfs(self, path: str) -> "Disk | Unread":
        answer = self._ask("statvfs", path)
        return answer if isinstance(answer, Unread) else shaped(Disk, "statvfs", path, answer)

    def volume(self, path: str) -> "Space | Unread":
        """Size and free space of the filesystem that holds `path`."""
        answer = self._ask("volume", path)
        return answer if isinstance(answer, Unread) else shaped(Space, "volume", path, answer)

    def modinfo(self, path: str, *, keep: Keep | None = None) -> "dict[str, Any] | Unread":
        """A kernel module's .modinfo as text by key, ``signer`` where it is signed: the module itself is too large for a tape."""
        answer = self._ask("modinfo", path, keep=keep)
        if isinstance(answer, dict) and all(isinstance(value, str) for value in answer.values()):
            return answer
        return answer if isinstance(answer, Unread) else unexpected("modinfo", path, answer)

    def elf(self, path: str) -> "Elf | Unread":
        """Whether a file is a library that can be loaded; its contents are not read."""
        answer = self._ask("elf", path)
        return answer if isinstance(answer, Unread) else shaped(Elf, "elf", path, answer)

    def run(self, *argv: str, keep: Keep | None = None) -> "Completed | Unread":
        """Run a program of the host. Last resort: no shell, LC_ALL=C, capped output, a deadline of its own."""
        answer = self._ask("run", *argv, keep=keep)
        return answer if isinstance(answer, Unread) else shaped(Completed, "run", " ".join(argv), answer)

    def host(self) -> "dict[str, Any] | Unread":
        """Identity and time, with the keys hostname, release, machine, boot_id, now, uid; and simulated, where it is no live host."""
        answer = self._object("host")
        if not isinstance(answer, Unread):
            for key, value in answer.items():
                if (
                    not isinstance(value, _HOST_KEYS.get(key, str))
                    or isinstance(value, bool) != (key == "simulated")
                    or (key == "now" and not abs(value) < MAX_TIME)
                ):
                    return Unread("error", f"host: {key} is {value!r:.40}")
        return answer

    def os_release(self, *, keep: Keep | None = None) -> "dict[str, Any] | Unread":
        """os-release by the distro library: its keys in lower case."""
        return self._object("os_release", keep=keep)

    def processes(self, *, keep: Keep | None = None) -> "list[dict[str, Any]] | Unread":
        """Relevant daemons: pid, name, argv, started_at, unit. A unit of None: it may be an untrusted process."""
        return self._objects("processes", keep)

    def sockets(self, *, keep: Keep | None = None) -> "list[dict[str, Any]] | Unread":
        """Listening unix sockets with a file of root, one mapping each: path; unseen, true, where the file may not be read."""
        return self._objects("sockets", keep)

    def gpu_users(self) -> "list[dict[str, Any]] | Unread":
        """Processes with an open device node of the driver, see `hostagent.domains.driver.read_gpu_users`: pid, program, device."""
        return self._objects("gpu_users", None)

    def shims(self) -> "dict[str, Any] | Unread":
        """How many containers run in each namespace of containerd, see `hostagent.domains.runtime.read_container_shims`."""
        return self._object("shims")

    def enrolled(self, *paths: str) -> "dict[str, Any] | Unread":
        """Whether certificates are in the machine owner's list, see `hostagent.domains.driver.read_mok`: true or false by path."""
        answer = self._ask("enrolled", *paths)
        return answer if isinstance(answer, dict | Unread) else unexpected("enrolled", "", answer)

    def kernel_log(self, *, keep: Keep | None = None) -> "dict[str, Any] | Unread":
        """Kernel messages of this boot, see `hostagent.core.tables.kernel_log`: lines, ``[seconds since the boot, message]`` or
        on old tapes the message alone, oldest first; complete (bool).
        """
        return self._object("kernel_log", keep=keep)

    def kernel_words(self, *, keep: Keep | None = None) -> "dict[str, Any] | Unread":
        """The same of the records of `hostagent.core.tables.kernel_words`; lines are ``[seconds since the boot, caller, message]``;
        the patterns are those of `keep`. Of a tape that kept fewer patterns, the lines that it has, and ``is_older``.
        """
        answer = self._object("kernel_words", keep=keep)
        if isinstance(answer, Unread):
            whole = self.answer(("kernel_words",))
            if type(whole) is Filtered and isinstance(whole.answer, dict):
                return {**whole.answer, "is_older": True}
        return answer

    def adjtimex(self) -> "int | Unread":
        """Status word of the kernel clock; bit 0x40 is STA_UNSYNC."""
        answer = self._ask("adjtimex")
        return answer if isinstance(answer, int | Unread) else unexpected("adjtimex", "", answer)

    def lock_holder(self, path: str) -> "int | Unread":
        """Process id that holds a POSIX lock on `path` (F_GETLK); 0 if none does."""
        answer = self._ask("lock_holder", path)
        return answer if isinstance(answer, int | Unread) else unexpected("lock_holder", path, answer)

    def state_file(self, path: str) -> "dict[str, Any] | Unread":
        """A state file of the kubelet without the pods and containers in it, see `hostagent.domains.kubelet.state_file`."""
        return self._object("state_file", path)

    def podresources(self) -> "dict[str, Any] | Unread":
        """Devices by the kubelet itself, as rows of resource, ids and NUMA nodes: all (``devices``), and the ``allocated`` ones."""
        return self._object("podresources", "list")

    def rdma(self, *question: str) -> "Answer | Unread":
        """An answer of the RDMA lane, see `hostagent.domains.network.read_rdma_worker`: ``devices``; ``device NAME``; ``port NAME NUMBER``;
        ``verbs NAME NUMBER``; ``library``. Values are sysfs' words, or ``{"unread": [why, detail]}``. Where the profile makes verbs
        optional, answers of libibverbs are not-supported without the library or a permission.
        """
        answer = self._ask("rdma", *question)
        if question[0] in _OF_VERBS and is_unavailable(answer) and self._policy().verbs_optional:
            return not_asked("verbs are", answer)
        return answer

    def network(self, *question: str) -> "Answer | Unread":
        """Of the network lane (`domains.network.read_network_worker`): ``devices``; ``device NAME``; ``addresses``; ``dcb NAME``."""
        return self._ask("network", *question)

    def nccl_library(self, path: str) -> "NcclFile | Unread":
        """Properties of a libnccl or its plug-in, see `hostagent.domains.nccl.read_elf`: the file is too large for a tape."""
        answer = self._ask("nccl_library", path)
        return answer if isinstance(answer, Unread) else shaped(NcclFile, "nccl_library", path, answer)

    def environment(self, *, keep: Keep | None = None) -> "dict[str, Any] | Unread":
        """The environment of a job by --env-file, see `hostagent.domains.nccl.env_file`: {} without one."""
        return self._object("environment", keep=keep)

    def pci_controls(self, *addresses: str) -> "dict[str, Any] | Unread":
        """By address: ``acs``, ``control`` (device control word), ``fatal`` of PCI functions; one question for all of them. Not-supported
        where the profile makes them optional and a permission is missing.
        """
        answer = self._object("pci_controls", *addresses)
        if is_unavailable(answer) and self._policy().pci_optional:
            return not_asked("the configuration space of PCI is", answer)
        return answer

    def configz(self) -> "dict[str, Any] | Unread | None":
        """Fields of the running kubelet's own configuration; None where the profile names no address."""
        where = self._policy().configz
        return self._object("configz", *where) if where[0] else None

    def nvml(self, call: str, *arguments: str) -> "Answer | Unread":
        """An NVML answer, already JSON; see `hostagent.domains.gpu.read_nvml`. The detail of an NVML error
        starts with its number: ``15 GPU is lost``. Where the profile makes NVML optional and it cannot be initialised
        without a driver or a permission, it is not-supported. If NVML does not start, that is the one gap of all its calls.
        """
        answer = self._ask("nvml", call, *arguments)
        started = self._ask("nvml", "init") if isinstance(answer, Unread) else None
        if isinstance(started, Unread):
            if is_unavailable(answer) and is_unavailable(started) and self._policy().nvml_optional:
                return not_asked("NVML is", started)
            return started
        return answer

    def _object(self, method: str, *arguments: str, keep: Keep | None = None) -> "dict[str, Any] | Unread":
        answer = self._ask(method, *arguments, keep=keep)
        return answer if isinstance(answer, dict | Unread) else unexpected(method, arguments[0] if arguments else "", answer)

    def _objects(self, method: str, keep: Keep | None) -> "list[dict[str, Any]] | Unread":
        answer = self._ask(method, keep=keep)
        if isinstance(answer, list) and all(isinstance(row, dict) for row in answer):
            return answer
        return answer if isinstance(answer, Unread) else unexpected(method, "", answer)
