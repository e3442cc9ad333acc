"""A real Slurm in a temporary folder: slurmctld and nodes on ports of their own, all on this machine. Each node has its own recorded host,
state directory and log, and runs hostagent's programs as slurmd starts them.

A fault that comes and goes is a value in a node's recording; lines of a kernel log are added to the recording's own log, never to this machine's.
"""

import contextlib
import functools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.real.conftest import need_real
from tests.real.daemonrun import eventually, port

NODES = ("n1", "n2", "n3", "n4")
HOST, GPUS, BOOTED_AT = "hgx-h100-ubuntu2404", 8, 1794290400.0
HOW = "apt-get install --no-install-recommends slurmctld slurmd slurm-client munge"
#: Reasons of the two faults that `Host` has.
ROW_REMAP, UNREAD = "hostagent: GpuRowRemap: ", "nvml device {} row_remap"
_BUS = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")
#: What changes in `scontrol show node` by itself.
_VOLATILE = re.compile(r" *\b(CPULoad|FreeMem|LastBusyTime|BootTime|SlurmdStartTime|CurrentWatts|AveWatts|CPUAlloc|AllocMem|AllocTRES)=\S*")
_OWN = ("State", "Reason", "Comment", "Extra")
_SCRIPTS = {
    "health": """exec {home}/hostagent slurm health {options} >>$node/health.log 2>&1""",
    "prolog": """{home}/hostagent slurm prolog --refusal-code 100 {options} >>$node/prolog.log 2>&1\n[ $? -ne 100 ]""",
    "epilog": """{home}/hostagent slurm epilog --refusal-code 100 {options} >>$node/epilog.log 2>&1\n[ $? -ne 100 ]""",
}
_OPTIONS = "--slurm-conf {home}/slurm.conf --bin-dir {home}/bin --state-dir $node/state --from $node/tape.json $(cat $node/options $node/options-{program})"
_SCRIPT = """#!/bin/sh
node={home}/nodes/$SLURMD_NODENAME
{text}
"""
_HELD = "[ -e $node/held-{program} ] && exit 0\n[ -e $node/refuses-{program} ] && exit 1\n{text}"
#: Notes each call, and its time; it sleeps while there is a file that says so.
_SCONTROL = """#!/bin/sh
printf '%s %s\\n' "$(date +%s.%N)" "$*" >>{home}/calls
[ -e {home}/scontrol-sleeps ] && sleep 300
exec /usr/bin/scontrol "$@"
"""
_CONF = """ClusterName=hostagent
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
SlurmdUser=root
StateSaveLocation={home}/controller
SlurmdSpoolDir={home}/nodes/%n/spool
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/nodes/%n/slurmd.pid
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=1
SlurmctldTimeout=10
SlurmdTimeout=60
SlurmdParameters=config_overrides
GresTypes=gpu
RebootProgram={home}/reboot.sh
HealthCheckProgram={home}/health.sh
HealthCheckInterval={interval}
HealthCheckNodeState=ANY
Prolog={home}/prolog.sh
Epilog={home}/epilog.sh
PrologFlags=Alloc
KillWait=1
SchedulerParameters={at_once}
"""
#: Of SchedulerParameters: jobs begin as soon as they can. A later line of slurm.conf takes the place of this one.
AT_ONCE = "batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1"

_NODE = "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=1000 Gres=gpu:h100:8 Feature=h100,ib\n"
_PARTITION = "PartitionName=gpu Nodes=ALL Default=YES MaxTime=5 DefaultTime=1\n"


class Shown(NamedTuple):
    """What `scontrol show node` says of one. ``rest``: everything else that does not change by itself."""

    states: frozenset[str]
    reason: str
    reason_at: str
    comment: str
    extra: str
    rest: str

    @property
    def is_drained(self) -> bool:
        return "DRAIN" in self.states

    @property
    def is_idle(self) -> bool:
        return self.states == {"IDLE"}


def shown(text: str) -> Shown:
    """Its fields are lines: no free text can be taken for another field."""
    found = dict.fromkeys(_OWN, "")
    rest = []
    for line in text.splitlines():
        name, _, value = line.strip().partition("=")
        if name in ("Reason", "Comment", "Extra"):
            found[name] = value
        else:
            found["State"] = (re.findall(r"\bState=(\S+)", line) or [found["State"]])[0]
            rest.append(re.sub(r" *\bState=\S+", "", _VOLATILE.sub("", line)))
    reason, _, at = found["Reason"].rpartition(" [")
    states = frozenset(found["State"].rstrip("*~#!%$@^-").split("+"))
    return Shown(states, reason, at.rstrip("]"), found["Comment"], found["Extra"], "\n".join(rest).strip())


@functools.cache
def _answers() -> dict[str, Any]:
    return json.loads((Path(__file__).parents[1] / "hosts" / HOST / "tape.json").read_text(encoding="utf-8"))


class Host:
    """The recorded host of one node: eight H100, all well."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changes: dict[str, Any] = {}
        self.mend()

    def mend(self) -> None:
        """No fault is left."""
        self.change({})

    def fault(self, *gpus: int) -> None:
        """A memory row of these GPUs could not be remapped, and nothing else is wrong: not ready."""
        self.change({f"nvml device {one} row_remap": {"json": [0, 0, 0, 1]} for one in gpus})

    def blind(self) -> None:
        """No GPU answers in time: unknown."""
        silent = {"unread": "timeout", "detail": "no answer"}
        self.change({f"nvml device {one} row_remap": silent for one in range(GPUS)})

    def xid(self, gpu: int, code: int = 79, at: float = 0.0) -> None:
        """A line of the recording's kernel log, now or at another time; it stays until it is mended."""
        log = json.loads(json.dumps(_answers()["answers"]["kernel_log"]))
        text = f"NVRM: Xid (PCI:0000:{_BUS[gpu]}:00): {code}, pid=4, name=python, GPU has fallen off the bus."
        log["json"]["lines"].append([(at or time.time()) - BOOTED_AT, text])
        self.change({"kernel_log": log})

    def change(self, answers: Mapping[str, Any]) -> None:
        """To other answers, at once for whoever reads it."""
        made = _answers()
        text = json.dumps({**made, "answers": {**made["answers"], **answers}})
        part = self._path.with_name("tape.part")
        part.write_text(text, encoding="utf-8")
        part.rename(self._path)


class Place:
    """Where the programs of Slurm run: here, or in a root of another distribution (`slurmroots`)."""

    version = 22

    def command(self, *argv: str) -> list[str]:
        return list(argv)


class Program:
    """slurmctld, or a slurmd: a child that goes when the tests go. It and what it starts go before others: intervals are of wall clocks."""

    def __init__(self, argv: list[str], log: Path, environment: Mapping[str, str]) -> None:
        self._argv, self._log, self._environment = argv, log, environment
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *more: str) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                ["nice", "--adjustment=-10", "setpriv", "--pdeathsig", "KILL", *self._argv, *more],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                cwd="/",  # python -m takes what lies here first
                start_new_session=True,
            )

    def send(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def end(self, number: int = signal.SIGTERM) -> None:
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


class Cluster:
    """Up within ``with started(...)``."""

    def __init__(self, home: Path, interval: int, more: str, place: Place, munge: bool) -> None:
        self.home, self.interval, self.place = home, interval, place
        self._environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SLURM_CONF": f"{home}/slurm.conf", "LC_ALL": "C.UTF-8"}
        self.conf = _CONF.format(home=home, port=port(), interval=interval, at_once=AT_ONCE) + self._identity(munge) + more
        self.conf += "".join(_NODE.format(name=name, port=port()) for name in NODES) + _PARTITION
        self.hosts: dict[str, Host] = {}
        self._files()
        self.controller = self._program(home / "slurmctld.log", "slurmctld", "-D")
        self.slurmds = {name: self._program(home / f"nodes/{name}/slurmd.log", "slurmd", "-D", "-N", name) for name in NODES}
        argv = [f"--{key}={home}/munge/{key}" for key in ("key-file", "socket", "pid-file", "log-file", "seed-file")]
        self._munge = self._program(home / "munge.log", "munged", "--foreground", "--force", *argv) if munge else None

    def _program(self, log: Path, *argv: str) -> Program:
        return Program(self.place.command(*argv), log, self._environment)

    def _identity(self, munge: bool) -> str:
        if not munge:
            return "AuthType=auth/none\nCredType=cred/none\n"
        folder = self.home / "munge"
        folder.mkdir(mode=0o755, parents=True)
        (folder / "key-file").write_bytes(os.urandom(128))
        (folder / "key-file").chmod(0o400)
        return f"AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket={folder}/socket\n"

    def _files(self) -> None:
        for name in ("controller", "bin", "dev", *(f"nodes/{name}/{one}" for name in NODES for one in ("spool", "state"))):
            (self.home / name).mkdir(parents=True)
        for number in range(GPUS):
            (self.home / f"dev/nvidia{number}").symlink_to("/dev/null")
        for name in NODES:
            self.hosts[name] = Host(self.home / f"nodes/{name}/tape.json")
            self.options(name)
            for program in _SCRIPTS:
                self.more(program, name)
        self._write("slurm.conf", self.conf)
        self.gres()
        if self.place.version > 22:
            self._write("cgroup.conf", "CgroupPlugin=disabled\n")
        self._write("reboot.sh", f"#!/bin/sh\necho reboot >>{self.home}/reboots\n", 0o755)
        self._write("bin/scontrol", _SCONTROL.format(home=self.home), 0o755)
        self._write("calls", "")
        self.use(shlex.join([sys.executable, "-m", "hostagent"]))
        for program, text in _SCRIPTS.items():
            body = text.format(home=self.home, options=_OPTIONS.format(home=self.home, program=program))
            held = _HELD.format(program=program, text=body)
            self._write(f"{program}.sh", _SCRIPT.format(home=self.home, text=held), 0o755)
            self._write(f"{program}-by-hand.sh", _SCRIPT.format(home=self.home, text=body), 0o755)

    def _write(self, name: str, text: str, mode: int = 0o644) -> None:
        part = self.home / f"{name}.part"
        part.write_text(text, encoding="utf-8")
        part.chmod(mode)
        part.rename(self.home / name)

    def use(self, command: str) -> None:
        """What stands for `hostagent` from now on, in a shell's words."""
        self._write("hostagent", f'#!/bin/sh\nexec {command} "$@"\n', 0o755)

    def options(self, node: str, text: str = "") -> None:
        """More options of a node's programs."""
        self._write(f"nodes/{node}/options", text)

    def more(self, program: str, node: str, text: str = "") -> None:
        """More options of one program on a node."""
        self._write(f"nodes/{node}/options-{program}", text)

    def gres(self, **gpus: int) -> None:
        """How many GPUs a node's gres.conf has, where not eight."""
        rows = [f"NodeName={name} Name=gpu Type=h100 File={self.home}/dev/nvidia[0-{gpus.get(name, GPUS) - 1}]\n" for name in NODES]
        self._write("gres.conf", "".join(rows))

    def folder(self, node: str) -> Path:
        return self.home / "nodes" / node

    def said(self, node: str, program: str = "health") -> str:
        """All that a program of hostagent wrote on a node."""
        path = self.folder(node) / f"{program}.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def hold(self, program: str, *nodes: str) -> None:
        """slurmd starts it, and it does nothing."""
        for node in nodes or NODES:
            (self.folder(node) / f"held-{program}").touch()

    def release(self, program: str, *nodes: str) -> None:
        for node in nodes or NODES:
            (self.folder(node) / f"held-{program}").unlink(missing_ok=True)

    @contextmanager
    def another_refuses(self, program: str, node: str) -> Iterator[None]:
        """It fails for a reason that is not hostagent's."""
        path = self.folder(node) / f"refuses-{program}"
        path.touch()
        try:
            yield
        finally:
            path.unlink()

    def client(self, *argv: str, check: bool = True, within_s: float = 15.0) -> "subprocess.CompletedProcess[str]":
        """A program of Slurm, as a person calls it."""
        command = ["timeout", str(within_s), *self.place.command(*argv)]
        done = subprocess.run(command, env=self._environment, cwd=self.home, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or not check, f"{argv}: {done.returncode} {done.stdout}{done.stderr}"
        return done

    def scontrol(self, *argv: str, check: bool = True) -> str:
        done = self.client("scontrol", *argv, check=check)
        return done.stdout + done.stderr

    def update(self, node: str, **values: str) -> None:
        self.scontrol("update", f"NodeName={node}", *(f"{key}={value}" for key, value in values.items()))

    def node(self, name: str) -> Shown:
        return shown(self.scontrol("show", "node", name))

    def job(self, number: str) -> dict[str, str]:
        return dict(re.findall(r"(\w+)=(\S*)", self.scontrol("show", "job", "-o", number)))

    def sbatch(self, script: str, *argv: str) -> str:
        """A job's number. It runs for at most a minute."""
        output = ("--output", f"{self.home}/job-%j.out", "--open-mode=append")
        return self.client("sbatch", "--parsable", *output, *argv, "--wrap", script).stdout.strip()

    def output(self, job: str) -> str:
        path = self.home / f"job-{job}.out"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def settled(self, *nodes: str) -> None:
        """Hosts well, nodes idle, no words of ours or of others, nothing in hostagent's memory."""
        for name in nodes or NODES:
            self.hosts[name].mend()
            shutil.rmtree(self.folder(name) / "state/slurm", ignore_errors=True)
            with contextlib.suppress(AssertionError):
                self.update(name, Comment="", Extra="")
            if self.node(name).states & {"DRAIN", "DOWN", "FAIL"}:
                self.scontrol("update", f"NodeName={name}", "State=RESUME", check=False)
        eventually(lambda: all(self.node(name).is_idle for name in nodes or NODES), 20)

    def health(self, node: str, *options: str, within_s: float = 40.0) -> "subprocess.CompletedProcess[str]":
        """One run as slurmd starts it, by hand: with the node's name in the environment and nothing else."""
        self.options(node, shlex.join(options))
        try:
            return subprocess.run(
                self.place.command(str(self.home / "health-by-hand.sh")),
                env={"SLURMD_NODENAME": node},
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=within_s,
                check=False,
            )
        finally:
            self.options(node)

    def calls(self, kind: str = "update", node: str = "") -> list[str]:
        """Arguments of each scontrol that hostagent has called."""
        rows = [line.split(" ", 1)[1] for line in (self.home / "calls").read_text(encoding="utf-8").splitlines()]
        return [row for row in rows if row.startswith(kind) and (not node or f"NodeName={node} " in f"{row} ")]

    @contextmanager
    def scontrol_sleeps(self) -> Iterator[None]:
        """Of hostagent's programs alone."""
        (self.home / "scontrol-sleeps").touch()
        try:
            yield
        finally:
            (self.home / "scontrol-sleeps").unlink()

    def start(self) -> None:
        if self._munge is not None:
            self._munge.start()
            eventually((self.home / "munge/socket").exists, 10)
        self.controller.start()
        for one in self.slurmds.values():
            one.start()
        eventually(lambda: self._answer().count("idle") == len(NODES), 40)

    def _answer(self) -> str:
        assert self.controller.process is not None
        assert self.controller.process.poll() is None, (self.home / "slurmctld.log").read_text(errors="replace")[-2000:]
        return self.client("sinfo", "-h", "-N", "-p", "gpu", "-o", "%t", check=False, within_s=5).stdout.replace("idle*", "")

    def stop(self) -> None:
        (self.home / "scontrol-sleeps").unlink(missing_ok=True)
        if self.controller.process and self.controller.process.poll() is None:
            self.controller.send(signal.SIGCONT)
            self.client("scancel", "--user=root", "--signal=KILL", check=False, within_s=5)
        for one in self.slurmds.values():
            one.end()
        self.controller.end(signal.SIGKILL)  # its state is of no use to anyone, and takes three seconds to write
        if self._munge is not None:
            self._munge.end()
        with contextlib.suppress(AssertionError):
            eventually(lambda: not self.left(), 3)
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        eventually(lambda: not self.left(), 5)

    def left(self, *words: str) -> list[int]:
        """Processes, zombies aside, that have this cluster's folder in their arguments or environment, and these words in the arguments."""
        wanted, found = str(self.home).encode(), []
        for name in filter(str.isdecimal, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                line, around = (Path(f"/proc/{name}/{one}").read_bytes() for one in ("cmdline", "environ"))
                if int(name) != os.getpid() and wanted in line + around and all(one.encode() in line for one in words):
                    found.append(int(name))
        return found


@contextmanager
def started(
    home: Path, *, interval: int = 2, more: str = "", held: bool = False, place: "Place | None" = None, munge: bool = False
) -> Iterator[Cluster]:
    """`held`: health starts when it is released; else it runs every `interval` seconds from the beginning. `more`: lines of slurm.conf."""
    if place is None:
        for name in ("slurmctld", "slurmd", *(("munged",) if munge else ())):
            need_real(f"/usr/sbin/{name}", HOW)
    if os.getuid() != 0:
        need_real("/root-is-needed", "sudo make test")
    made = Cluster(home, interval, more, place or Place(), munge)
    if held:
        made.hold("health")
    try:
        made.start()
        yield made
    finally:
        made.stop()
