"""Links of another network namespace: ``unshare --net --mount --pid --fork --mount-proc python -m tests.unit.network.linkevents_inside host``.

``host`` is process 1 of a host of its own; for each way it starts ``pod``, a process in another network namespace, and makes and changes
links between its lines. Prints JSON.
"""

import json
import os
import subprocess
import sys
import time

from hostagent.domains.network.read_link_events import LinkEvents
from hostagent.host.paths import Root
from tests.attack.spaces import this_machine_below

#: By the way in which the pod is started, the capability that it lacks (setpriv(1)).
WAYS = {"privileged": "", "no-admin": "sys_admin", "no-ptrace": "sys_ptrace"}


def ip(line):
    subprocess.run(["ip", *line.split()], check=True)


def host():
    found = {"own": os.stat("/proc/self/ns/net").st_ino}
    with this_machine_below() as place:
        for way, lacking in WAYS.items():
            found[way] = of_pod(place, "unshare", "--net", *without(lacking))
        found["host-network"] = of_pod(place, *without("all"))
    return found


def without(lacking):
    return ["setpriv", f"--bounding-set=-{lacking}", f"--inh-caps=-{lacking}"] if lacking else []


def of_pod(place, *how):
    argv = [*how, sys.executable, "-m", "tests.unit.network.linkevents_inside", "pod", place]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        ip("link add va type veth peer name vb")
        time.sleep(0.1)
        told, _ = process.communicate("\n", timeout=20)
        ip("link del va")
    return json.loads(told)


def pod(place):
    before = os.stat("/proc/self/ns/net").st_ino
    links = LinkEvents(Root(place))
    links.look(None)
    print("open", flush=True)  # noqa: T201
    sys.stdin.readline()
    sees = links.look({"va"})
    return {"before": before, "after": os.stat("/proc/self/ns/net").st_ino, "sees": sees, "problem": links.problem}


if __name__ == "__main__":
    print(json.dumps(host() if sys.argv[1] == "host" else pod(sys.argv[2])))  # noqa: T201
