"""Runs in namespaces of its own: ``unshare --mount --pid --fork --mount-proc python -m tests.real.installation_inside``; prints JSON.

Device nodes of a driver that is not there are made as those of /dev/null; a module's count says that they are in use. It prints who
uses them by our reader, by lsof(8) and by fuser(1).
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hostagent.domains.driver.read_gpu_users import gpu_users
from hostagent.host.paths import Root
from tests.attack.spaces import mount

_HOLD = "import os, sys, time\nfor one in sys.argv[1:]: os.open(one, os.O_RDWR)\nprint(flush=True)\ntime.sleep(60)"
_IN_OWN_ROOT = "import os, time\nos.chroot('{}'); os.open('/dev/nvidia0', os.O_RDWR)\nprint(flush=True)\ntime.sleep(60)"
_IN_OWN_MOUNTS = (
    "import os, sys, time\nfrom tests.attack.spaces import mount, unshare\nunshare('mount'); mount('tmpfs', '/dev', 'tmpfs')\n"
    "os.mknod('/dev/nvidia0', 0o20666, os.makedev(1, 3)); os.open('/dev/nvidia0', os.O_RDWR)\nprint(flush=True)\ntime.sleep(60)"
)


def start(code, *arguments):
    child = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE)
    child.stdout.readline()
    return child.pid


def asked(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60).stdout


def main():
    root = Path(tempfile.mkdtemp())
    for name in ("proc", "sys/module/nvidia", "jail/dev"):
        (root / name).mkdir(parents=True)
    (root / "sys/module/nvidia/refcnt").write_text("1\n")
    mount("/proc", str(root / "proc"), "", 0x1000)  # MS_BIND
    (root / "devices").write_text("Character devices:\n  1 nvidia\n")  # what is there under its nodes' names has the major of mem
    mount(str(root / "devices"), str(root / "proc/devices"), "", 0x1000)
    mount("tmpfs", "/dev", "tmpfs")
    for name, minor in (("null", 3), ("nvidia0", 3), ("nvidia1", 3), ("nvidiactl", 5), ("zero", 5)):
        os.mknod(f"/dev/{name}", 0o20666, os.makedev(1, minor))
    os.mknod(root / "jail/dev/nvidia0", 0o20666, os.makedev(1, 3))
    pids = {
        "one": start(_HOLD, "/dev/nvidia0"),
        "two": start(_HOLD, "/dev/zero", "/dev/nvidia1", "/dev/nvidiactl"),
        "none": start(_HOLD, "/dev/zero"),
        "deleted": start(_HOLD, "/dev/nvidia1"),
        "own root": start(_IN_OWN_ROOT.format(root / "jail")),
        "own mounts": start(_IN_OWN_MOUNTS),
    }
    named = {str(pid): name for name, pid in pids.items()}
    judges = {
        "lsof": sorted(
            named[pid]
            for pid in set(re.findall(r"^p(\d+)$", asked("lsof", "-Fp", "/dev/nvidia0", "/dev/nvidia1"), re.MULTILINE))
            if pid in named
        ),
        "fuser": sorted(named[pid] for pid in set(asked("fuser", "/dev/nvidia0", "/dev/nvidia1").split()) if pid in named),
    }
    os.unlink("/dev/nvidia1")
    began = time.perf_counter()
    ours = gpu_users(Root(str(root)), {os.getpid()})
    took_s = time.perf_counter() - began
    rows = {named[str(row["pid"])]: [row["program"], row["device"]] for row in ours} if isinstance(ours, list) else repr(ours)
    print(json.dumps({**judges, "ours": rows, "seconds": took_s}))  # noqa: T201


if __name__ == "__main__":
    main()
