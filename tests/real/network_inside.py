"""Runs in a network namespace of its own: ``unshare --net --mount python -m tests.real.network_inside MODE COMMANDS``; prints JSON.

COMMANDS is a JSON list of argument lists of ip(8). MODE ``own``: what our reader says of it and what ip says. MODE ``apart``: what
it says of the host, whose root is mounted at a directory here, and whose network is not this process'. MODE ``pod`` is process 1 of a
host of its own (``--pid --fork --mount-proc``): it makes interfaces by COMMANDS, and asks what a process in another network namespace
reads of it, with all rights (``privileged``), without CAP_SYS_ADMIN (``no-admin``) and without CAP_SYS_PTRACE (``no-ptrace``).
"""

import dataclasses
import json
import os
import subprocess
import sys
import time

from hostagent.core.unread import Unread
from hostagent.domains.network import read_interface_addresses, read_netlink, read_network_answers
from hostagent.engine.collect import collect
from hostagent.engine.questions import DOMAINS, live_backend
from hostagent.facts.network import Network
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.host.source import Source
from hostagent.sandbox.worker import Worker
from tests.attack.spaces import this_machine_below

_READINGS = 50


def plain(value):
    if isinstance(value, Unread):
        return {"unread": value.why, "detail": value.detail}
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return [plain(one) for one in value] if isinstance(value, tuple) else value


def ip(*words):
    completed = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    return completed.returncode, completed.stdout, completed.stderr


def read(root, kind):
    worker = Worker(DOMAINS.lanes["network"], root)
    worker.start()
    tape = {}
    try:
        source = Source(
            live_backend(root, kind, workers=[worker]), on_answer=lambda question, answer: tape.update({" ".join(question): answer})
        )
        facts, _ = collect(source, ["Network"])
        return plain(facts.of(Network)), {key: plain(answer) for key, answer in tape.items() if key.startswith("network ")}
    finally:
        worker.close()


def told():
    """What ip says, and of it what does not change by itself: the timers of a bridge do."""
    links, addresses = json.loads(ip("-j", "-d", "link")[1]), json.loads(ip("-j", "addr")[1])
    steady = [[one.get(key) for key in ("ifname", "mtu", "operstate", "flags", "master")] for one in links]
    return links, addresses, (steady, [(one["ifname"], each["local"]) for one in addresses for each in one["addr_info"]])


def settled():
    """What we read while ip said the same before and after: the kernel tells a link's new state, and gives it an address, a while later."""
    for _ in range(_READINGS):
        _, _, before = told()
        network, tape = read("/", "live")
        tables = read_interface_addresses.by_tables(Files(Root()), "/proc/self/net")
        links, addresses, after = told()
        if before == after:
            return network, tape, tables, links, addresses
        time.sleep(0.1)
    raise RuntimeError(f"the network still changed after {_READINGS} readings: {before} and {after}")


def own(commands):
    subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)
    failed = [(words, said) for words in commands for code, _, said in [ip(*words)] if code]
    network, tape, tables, links, addresses = settled()
    dcb = {one["name"]: subprocess.run(["dcb", "-j", "pfc", "show", "dev", one["name"]], capture_output=True, text=True, check=False).stderr
           for one in network["netdevs"]}  # fmt: skip
    return {"failed": failed, "network": network, "tape": tape, "tables": tables, "links": links, "addresses": addresses, "dcb": dcb}


def apart():
    with this_machine_below() as place:
        network, tape = read(place, "host-root")
    return {"network": network, "tape": tape}


#: By the way in which the pod is started, the capability that it lacks (setpriv(1)).
WAYS = {"privileged": "", "no-admin": "sys_admin", "no-ptrace": "sys_ptrace"}


def pod(commands):
    subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)
    failed = [(words, said) for words in commands for code, _, said in [ip(*words)] if code]
    subprocess.run(["sysctl", "-qw", "net.ipv4.ip_local_port_range=20000 20999"], check=True)
    with this_machine_below() as place:
        found = {way: from_apart(place, lacking) for way, lacking in WAYS.items()}
    return {"failed": failed, **found}


def from_apart(place, lacking):
    rights = ["setpriv", f"--bounding-set=-{lacking}", f"--inh-caps=-{lacking}"] if lacking else []
    argv = ["unshare", "--net", *rights, sys.executable, "-m", "tests.real.network_inside", "reader", json.dumps(place)]
    completed = subprocess.run(argv, capture_output=True, text=True, check=False)
    if completed.returncode:
        raise RuntimeError(completed.stderr)
    return json.loads(completed.stdout)


def reader(place):
    """A process in a network namespace of its own. The worker enters the host's; this process stays where it is."""
    before = os.stat("/proc/self/ns/net").st_ino
    network, tape = read(place, "host-root")
    after = os.stat("/proc/self/ns/net").st_ino
    # As the worker does it, and for good: no interface of a test machine has an RDMA device, so the worker asks DCB of none.
    apart = plain(read_netlink.dcb("va"))
    root = Root(place)
    read_network_answers.entered(root, read_network_answers.namespace(root))
    return {"own": [before, after], "network": network, "tape": tape, "dcb": [apart, plain(read_netlink.dcb("va"))]}


MODES = {"own": own, "apart": lambda _: apart(), "pod": pod, "reader": reader}

if __name__ == "__main__":
    print(json.dumps(MODES[sys.argv[1]](json.loads(sys.argv[2]))))  # noqa: T201
