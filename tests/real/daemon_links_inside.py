"""A daemon over this machine, in a network namespace of its own: ``unshare --net --mount python -m tests.real.daemon_links_inside MODE``.

Prints JSON. MODE ``events``: seconds from a change of a link to the pass that it starts, by change, and the passes that untaken veths start.
MODE ``cost``: processor seconds of the daemon in a minute without a pass, in one in which 100 pairs of veth are made and deleted, and of a pass.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.real.daemonrun import Daemon, eventually

_PASSES = re.compile(r'^hostagent_passes_total\{.*?trigger="([\w-]+)".*?\} ([\d.]+)', re.MULTILINE)
_PAIRS = 20
_MINUTE_S = 60.0
#: Longer than a pass waits for its confirmation.
_SETTLED_S = 8.0
#: In which one pass begins and ends.
_PASS_S = 4.0


def ip(*lines, check=True):
    given = "\n".join(lines) + "\n"
    return subprocess.run(["ip", "-batch", "-"], input=given, text=True, check=check, stderr=subprocess.DEVNULL).returncode == 0


def make():
    """What is made of veths, and a member of it: a bond where this kernel has one, else a macvlan, of which the veth is the lower interface."""
    ip("link set lo up", *(f"link add {one}0 type veth peer name {one}1" for one in ("va", "vb")))
    if ip("link add bond0 type bond mode active-backup miimon 100", check=False):
        ip("link set va0 master bond0", "link set vb0 master bond0", "link set bond0 up")
        upper = "bond0"
    else:
        ip("link add mv0 link va0 type macvlan", "link set va0 up", "link set vb0 up", "link set mv0 up")
        upper = "mv0"
    ip("link set va1 up", "link set vb1 up")
    return upper


def passes(daemon):
    return {trigger: int(float(count)) for trigger, count in _PASSES.findall(daemon.get("/metrics").text)}


def started(folder, interval_s):
    return Daemon(folder, "--kubernetes", "off", "--interval", interval_s)


def ready(daemon):
    """Passes by trigger once no more comes: the first is confirmed, and links have come up."""
    eventually(lambda: daemon.answers("/metrics") and passes(daemon), 60)
    before, now = None, passes(daemon)
    while before != now:
        time.sleep(_SETTLED_S)
        before, now = now, passes(daemon)
    return now


def events(folder):
    upper = make()
    found = {"upper": upper, "took_s": {}, "triggers": {}}
    with started(folder, 3600) as daemon:
        before = ready(daemon)
        for _ in range(_PAIRS):
            ip("link add pv type veth peer name qv", "link set pv up", "link set qv up")
            time.sleep(0.1)
            ip("link del pv")
        time.sleep(3)
        found["untaken"] = {
            trigger: count - before.get(trigger, 0) for trigger, count in passes(daemon).items() if count != before.get(trigger)
        }
        for change in ("link set va1 down", "link set va0 mtu 1400", "link set va1 up"):
            before = ready(daemon)
            if change.endswith(" up"):  # amid those of pods, which are read less often
                ip("link add pv type veth peer name qv", "link del pv")
                time.sleep(1)
            ip(change)
            found["took_s"][change] = eventually(lambda before=before: passes(daemon) != before, 20)
            found["triggers"][change] = sorted(set(passes(daemon).items()) - set(before.items()))
        found["problems"] = [line for line in daemon.said().splitlines() if "cannot be" in line and ("uevents" in line or "links" in line)]
        found["code"] = daemon.end()
    return found


def cpu_s(pid):
    """Of the loop, of the publisher, and of children of theirs that have ended."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(run_s(one) for one in (pid, *children))


def run_s(pid):
    """schedstat counts in nanoseconds; the children that ended are in ticks of 10 ms (proc_pid_stat(5))."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(one.read_text().split()[0]) for one in tasks) / 1e9 + (int(fields[13]) + int(fields[14])) / 100


def cost(folder):
    """Without passes by interval, of which a minute has none or two: what one pass takes is measured by itself."""
    make()
    with started(folder, 3600) as daemon:
        before, pid = ready(daemon), daemon.process.pid
        quiet_s = spent_s(pid, lambda: time.sleep(_MINUTE_S))
        busy_s = spent_s(pid, hundred)
        found = {"quiet_s": quiet_s, "busy_s": busy_s, "passes": passes(daemon) != before}
        found["pass_s"] = spent_s(pid, one_pass) - quiet_s * _PASS_S / _MINUTE_S
        found["more"] = sum(passes(daemon).values()) - sum(before.values())
        found["code"] = daemon.end()
    return found


def spent_s(pid, meanwhile):
    before = cpu_s(pid)
    meanwhile()
    return cpu_s(pid) - before


def one_pass():
    ip("link set va0 mtu 1400")
    time.sleep(_PASS_S)


def hundred():
    for _ in range(100):
        next_at = time.monotonic() + _MINUTE_S / 100
        ip("link add pv type veth peer name qv", "link set pv up", "link set qv up")
        time.sleep(_MINUTE_S / 200)
        ip("link del pv")
        time.sleep(max(0.0, next_at - time.monotonic()))


if __name__ == "__main__":
    subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)
    with tempfile.TemporaryDirectory() as place:
        print(json.dumps({"events": events, "cost": cost}[sys.argv[1]](Path(place))))  # noqa: T201
