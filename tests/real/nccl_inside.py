"""Runs inside `unshare --mount --net`: asks real NCCL libraries, one process each, what they take from interfaces and settings that are made here.

Standard input is JSON lines. ``{"libraries": {version: path}}`` comes first; then per line a network and the cases asked in it:
``{"commands": [lines of ip], "running": [...], "cases": [{"env": {}, "files": {}, "init": true}]}`` (with `init` a communicator, too, with
`facts` what our own reader makes of the network). Each line gets one on standard output:
``{"addresses": what ip shows, "facts": {}, "answers": {version: [{"log", "env", "result"}]}}``. Texts are latin-1, so that they hold any byte.
The library is loaded once and never started in its process: a fork of it answers each case.
"""

import contextlib
import ctypes
import importlib
import json
import os
import subprocess
import sys
import threading
import time

NEWNET, NEWNS = 0x40000000, 0x00020000
LIBC = ctypes.CDLL(None, use_errno=True)
BASE = "/mnt/judge"  # a tmpfs of our own: what cases write is below it, and in /etc


class UniqueId(ctypes.Structure):
    """ncclUniqueId: given by value."""

    _fields_ = (("internal", ctypes.c_char * 128),)


def call(name, *arguments):
    if getattr(LIBC, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def prepare():
    """Private mounts: an /etc with what getpwuid, getaddrinfo and NCCL read, and a folder for homes."""
    kept = {}
    for name in ("nsswitch.conf", "host.conf", "gai.conf"):
        with contextlib.suppress(OSError), open(f"/etc/{name}", encoding="utf-8") as file:
            kept[name] = file.read()
    call("mount", b"none", b"/", None, 0x44000, None)  # private, with all below
    for folder in (b"/mnt", b"/etc"):
        call("mount", b"tmpfs", folder, b"tmpfs", 0, None)
    for folder in (BASE, f"{BASE}/passwd", f"{BASE}/home"):
        os.mkdir(folder)
    kept["passwd"] = f"root:x:0:0::{BASE}/passwd:/bin/sh\n"
    kept["hosts"] = "127.0.0.1 localhost\n"
    for name, text in kept.items():
        with open(f"/etc/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def environment():
    """What getenv sees now."""
    pointer, found = ctypes.POINTER(ctypes.c_char_p).in_dll(LIBC, "environ"), []
    while pointer and pointer[len(found)] is not None:
        found.append(pointer[len(found)].decode("latin-1"))
    return found


def answer(library, case, network, output):
    """In a fork: the case's environment and network, then ncclGetUniqueId. Never returns."""
    with open(network) as namespace:
        call("setns", namespace.fileno(), NEWNET)
    for name in list(os.environb):
        del os.environb[name]
    for name, value in case["env"].items():
        os.environb[name.encode("latin-1")] = value.encode("latin-1")
    log = os.memfd_create("log")
    for number in (1, 2):
        os.dup2(log, number)
    unique = UniqueId()
    result = library.ncclGetUniqueId(ctypes.byref(unique))
    if case.get("init") and result == 0:  # which fails without a GPU
        result = library.ncclCommInitRank(ctypes.byref(ctypes.c_void_p()), 1, unique, 0)
    LIBC.fflush(None)
    os.lseek(log, 0, os.SEEK_SET)
    with open(log, "rb", closefd=False) as file:
        text = file.read().decode("latin-1")
    told = json.dumps({"log": text, "env": environment(), "result": result})
    with open(output, "w", encoding="utf-8") as file:
        file.write(told)
    os._exit(0)


def heard(library, case, network):
    """At INFO each version says something: where nothing was heard, on a machine that others keep busy, it is asked again."""
    for _ in range(3):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            try:
                answer(library, case, network, writing)
            except BaseException as error:
                os.write(writing, json.dumps({"log": f"{error!r}", "env": [], "result": -1}).encode())
            os._exit(1)
        os.close(writing)
        with open(reading, encoding="utf-8") as file:
            found = json.loads(file.read())
        os.waitpid(child, 0)
        if found["log"] or case["env"].get("NCCL_DEBUG") != "INFO":
            break
    return found


def serve(path, requests, answers):
    """One library's process: a line with a network and cases in, a line with answers out."""
    library = ctypes.CDLL(path)
    for line in requests:
        asked = json.loads(line)
        told = []
        for case in asked["cases"]:
            for place, text in case["files"].items():
                with open(place, "wb") as file:
                    file.write(text.encode("latin-1"))
            told.append(heard(library, case, asked["network"]))
            for place in case["files"]:
                os.remove(place)
        answers.write(json.dumps(told) + "\n")
        answers.flush()


class Server:
    """A library's process with mounts of its own."""

    def __init__(self, path):
        asked, answered = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(asked[1])
            os.close(answered[0])
            call("unshare", NEWNS)
            prepare()
            with open(asked[0], encoding="utf-8") as requests, open(answered[1], "w", encoding="utf-8") as answers:
                serve(path, requests, answers)
            os._exit(0)
        os.close(asked[0])
        os.close(answered[1])
        self.asked, self.answered = os.fdopen(asked[1], "w", encoding="utf-8"), os.fdopen(answered[0], encoding="utf-8")

    def tell(self, question):
        self.asked.write(json.dumps(question) + "\n")
        self.asked.flush()

    def hear(self):
        return json.loads(self.answered.readline())


def facts():
    """The fact Network of this namespace. Imported before anything forks: it takes longer than reading does."""
    from tests.real import network_inside

    call("unshare", NEWNS)
    call("mount", b"sysfs", b"/sys", b"sysfs", 0, None)  # sysfs shows the network of who mounts it
    return network_inside.read("/", "live")[0]


def addresses(*inside):
    """What `ip` shows of this network, or of that which the words before it enter."""
    return json.loads(subprocess.run([*inside, "ip", "-j", "address"], capture_output=True, text=True, check=True).stdout)


def network(commands, running, has_facts):
    """Pid of a process in a network of its own, where `running` have carrier: the kernel says so after `ip link set up` returned."""
    ready, done = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(done[1])
        call("unshare", NEWNET)
        run = subprocess.run(["ip", "-force", "-batch", "-"], input="\n".join(commands), text=True, capture_output=True, check=False)
        until = time.monotonic() + 20
        while True:
            shown = addresses()
            waiting = {one["ifname"] for one in shown if "NO-CARRIER" in one["flags"] or "UP" not in one["flags"]} & set(running)
            if not waiting or time.monotonic() > until:
                break
            time.sleep(0.01)
        with open(ready[1], "w", encoding="utf-8") as file:
            told = {"addresses": shown, "faults": run.stderr, "waiting": sorted(waiting)}
            file.write(json.dumps(told | ({"facts": facts()} if has_facts else {})))
        os.read(done[0], 1)
        os._exit(0)
    os.close(ready[1])
    os.close(done[0])
    with open(ready[0], encoding="utf-8") as file:
        return pid, done[1], json.loads(file.read())


def main():
    servers = {version: Server(path) for version, path in json.loads(sys.stdin.readline())["libraries"].items()}
    for line in sys.stdin:
        if '"facts": true' in line:
            importlib.import_module("tests.real.network_inside")
        asked = json.loads(line)
        pid, done, told = network(asked["commands"], asked["running"], asked.get("facts"))
        while True:
            for server in servers.values():
                server.tell({"network": f"/proc/{pid}/ns/net", "cases": asked["cases"]})
            told["answers"] = {version: server.hear() for version, server in servers.items()}
            now = addresses("nsenter", f"--net=/proc/{pid}/ns/net")
            if now == told["addresses"]:
                break
            told["addresses"] = now  # the kernel tells of a lost carrier up to a second late: they are asked anew
            told.pop("facts", None)
        os.close(done)
        os.waitpid(pid, 0)
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    assert threading.active_count() == 1
    main()
