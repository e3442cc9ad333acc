"""One call of ansible-runner: applies the steps of one part by the playbook, in the process that owns the mounts."""

# ansible-runner leaves variables, environment and the command on the disk, so it gets a private directory in memory.
# `ansible-playbook -e @file` trusts the file: Jinja in a text is computed ({{ 1+1 }}, measured), so texts with its marks go as
# __ansible_unsafe; the playbook alone (`-e @plan.json`) still computes them. The ansible-playbook of a virtual environment names
# a Python that may have moved, so a script of three lines takes its place. Times: tests/bench/RESULTS.md.

import json
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from hostagent.core.escape import cut, visible
from hostagent.core.installation import paths
from hostagent.core.secret.names import without_secrets
from hostagent.install.playbooks import playbooks_path
from hostagent.install.target import PATH

#: Gets an event of each operation, see `hostagent.install.worker`.
OnEvent = Callable[[Mapping[str, Any]], None]
Log = Callable[[str], None]
#: Variables of the caller's environment that programs of a run get.
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "ftp_proxy", "all_proxy")
#: Characters of an output in an event; the log has all.
_REPORTED = 20_000
#: dpkg's progress while it reads its database.
_PROGRESS = re.compile(r"\(Reading database \.\.\. (?:\d+%)?\r?\n")
_INVENTORY = "localhost ansible_connection=local ansible_python_interpreter={}\n"
#: How Ansible and Python begin the line with the reason of their end: ``[ERROR]: …``, ``ERROR! …``, ``ModuleNotFoundError: …``.
_REASON = re.compile(r"(?:\[?ERROR\]?[:!]|fatal:|[A-Za-z_.]*(?:Error|Exception):)\s*(.*\S)")
#: Characters kept of Ansible's output outside of any operation, and of the sentence made from it.
_OUTPUT, _SENTENCE = 20_000, 300
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
#: Ansible's own script names the Python that it was installed for, which may have moved; a single file and a package have no script.
_START = "#!{python}\nimport sys\nsys.path[:0] = {paths}\nfrom ansible.cli.playbook import main\nsys.exit(main())\n"
#: Runs a module, which comes on standard input with a copy of Ansible's sources in it. With those of this Ansible loaded before it, none
#: is compiled: half the time of a program.
_MODULE = """#!{python}
import sys
sys.path[:0] = {paths}
import ansible.module_utils.basic
exec(compile(sys.stdin.buffer.read(), "module", "exec"), {{"__name__": "__main__"}})
"""


class PlayResult(NamedTuple):
    """`status`: as ansible-runner has it; `failed`: the event of the operation that failed."""

    status: str
    failed: "Mapping[str, Any] | None"


def environment(caller_environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a run's programs."""
    names = {*_PROXIES, *(name.upper() for name in _PROXIES)}
    return {
        **{name: value for name, value in caller_environment.items() if name in names},
        "PATH": PATH,
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
        "DEBIAN_FRONTEND": "noninteractive",
        "NEEDRESTART_SUSPEND": "1",  # it restarts services that use a changed library
        "NEEDRESTART_MODE": "l",
    }


def play(place: str, job: Mapping[str, Any], variables: Mapping[str, str], on_event: OnEvent, log: Log) -> PlayResult:
    """Run the playbook. `place`: an empty directory that goes away with this process; `variables`: the whole environment."""
    import ansible_runner

    _prepare(place, job)
    own = {
        "PATH": f"{place}/bin:{variables['PATH']}",
        "ANSIBLE_CONFIG": f"{place}/ansible.cfg",
        "ANSIBLE_HOME": f"{place}/home",
        "ANSIBLE_LOCAL_TEMP": f"{place}/home/tmp",
        "ANSIBLE_REMOTE_TEMP": f"{place}/home/tmp",
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_DEPRECATION_WARNINGS": "0",
        "ANSIBLE_STRATEGY": "linear",
    }
    os.environ.clear()
    os.environ.update({**variables, **own})
    handler = EventHandler(on_event, log)
    done = ansible_runner.run(
        private_data_dir=f"{place}/runner",
        playbook=f"{playbooks_path()}/apply.yaml",
        inventory=f"{place}/hosts",
        cmdline=f"-e @{shlex.quote(f'{place}/job.json')}",
        settings={"suppress_ansible_output": True, "suppress_output_file": True, "idle_timeout": 0, "job_timeout": 0},
        event_handler=handler.handle,
        quiet=True,
    )
    failed = handler.failed
    if failed is None and done.status != "successful":
        failed = {"message": unexplained(handler.output, done.rc)}
    return PlayResult(str(done.status), failed)


def unexplained(output: str, rc: "int | None") -> str:
    r"""Why Ansible ended though no operation failed, in one sentence. `output`: what it wrote outside of operations.

    >>> unexplained("Traceback (most recent call last):\n  File x\nModuleNotFoundError: No module named 'ansible'\n", 1)
    "Ansible did not run: No module named 'ansible'"
    >>> unexplained("[WARNING]: x\n[ERROR]: the role 'x' was not found\n\nOrigin: /x\n", 4)
    "Ansible did not run: the role 'x' was not found"
    >>> unexplained("", 137)
    'Ansible did not run: it ended with exit code 137 and said nothing'
    """
    lines = [_COLOUR.sub("", line) for line in without_secrets(output).splitlines()]
    reasons = [found[1] for found in map(_REASON.match, lines) if found]
    others = [line.strip() for line in lines if line.strip() and not line.startswith((" ", "Traceback"))]
    ended = f"it ended with exit code {rc}" if isinstance(rc, int) else "it ended without an exit code"
    sentence = visible(f"Ansible did not run: {(reasons or others or [f'{ended} and said nothing'])[-1]}")
    return cut(sentence, _SENTENCE)


def _prepare(place: str, job: Mapping[str, Any]) -> None:
    for name in ("bin", "runner", "home"):
        os.mkdir(f"{place}/{name}", 0o700)
    _write(f"{place}/job.json", json.dumps(job), 0o600)
    _write(f"{place}/ansible.cfg", "", 0o600)
    _write(f"{place}/hosts", _INVENTORY.format(shlex.quote(f"{place}/bin/python")), 0o600)
    ours = {"python": sys.executable, "paths": ascii(paths())}
    _write(f"{place}/bin/ansible-playbook", _START.format(**ours), 0o700)
    _write(f"{place}/bin/python", _MODULE.format(**ours), 0o700)


def _write(path: str, text: str, mode: int) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as stream:
        stream.write(text)


class EventHandler:
    """Turns ansible-runner's events into events of operations."""

    def __init__(self, on_event: OnEvent, log: Log) -> None:
        self.failed: Mapping[str, Any] | None = None
        self.output = ""  # outside of any operation
        self._on_event, self._log = on_event, log
        self._now: tuple[str, int] | None = None
        self._began = time.monotonic()

    def handle(self, event: Mapping[str, Any]) -> bool:
        """False: ansible-runner need not keep the event."""
        data = event.get("event_data") or {}
        match event.get("event"):
            case "playbook_on_task_start":
                self._start(str(data.get("task", "")))
            case "runner_on_ok" | "runner_on_failed" | "runner_on_unreachable" as word if self._now:
                self._end(data.get("res") or {}, failed=word != "runner_on_ok")
            case "runner_on_failed" | "runner_on_unreachable":
                self.failed = {"message": str((data.get("res") or {}).get("msg", ""))}
            case _:
                pass
        if text := str(event.get("stdout") or ""):
            text = text.replace("\r\n", "\n")
            self._log(without_secrets(text))
            if event.get("event") == "verbose":
                self.output = f"{self.output}{text}\n"[-_OUTPUT:]
        return False

    def _start(self, task: str) -> None:
        """A task of an operation is called ``STEP NUMBER WORD``."""
        words = task.split(" ")
        is_operation = len(words) == 3 and words[1].isdecimal()
        now = (words[0], int(words[1])) if is_operation else None
        if now != self._now:
            self._began = time.monotonic()
            if now:
                self._on_event({"event": "start", "step": now[0], "number": now[1]})
        self._now = now

    def _end(self, result: Mapping[str, Any], *, failed: bool) -> None:
        if self._now is None:
            return
        out, err = (without_secrets(str(result.get(name) or "")) for name in ("stdout", "stderr"))
        for text in (f"+ {shlex.join(map(str, result['cmd']))}" if isinstance(result.get("cmd"), Sequence) else "", out, err):
            if text:
                self._log(without_secrets(_PROGRESS.sub("", text)))
        event = {
            "event": "failed" if failed else "ok",
            "step": self._now[0],
            "number": self._now[1],
            "seconds": round(time.monotonic() - self._began, 1),
            "rc": result.get("rc"),
            "stdout": out[-_REPORTED:],
            "stderr": err[-_REPORTED:],
            "message": without_secrets(str(result.get("msg") or "")),
        }
        if failed:
            self.failed = event
        self._on_event(event)
