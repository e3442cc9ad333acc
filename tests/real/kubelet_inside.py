"""Runs one kubelet in namespaces of its own and writes what became of it. Started by `tests.real.kubeletrun`, never imported.

argv: a directory with case.json. Mounts, loopback and processes are those of this namespace and end with it.
"""

import contextlib
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

SYSCTLS = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
STARTED = b"Starting Kubelet Plugin Manager"
HOME = "/var/lib/k"


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if isinstance(value, list):
        os.symlink(value[1], path)
    else:
        with open(path, "wb") as file:
            file.write(value.encode("latin-1"))


def prepare(case):
    mount("-t", "tmpfs", "none", "/var/lib")
    mount("-t", "tmpfs", "none", "/var/log")
    for number, name in enumerate(SYSCTLS):
        path = f"/proc/sys/{name}"
        with contextlib.suppress(FileNotFoundError):
            with open(path, encoding="ascii") as file:
                write(f"/var/lib/sysctl/{number}", file.read())
            mount("--bind", f"/var/lib/sysctl/{number}", path)  # the kubelet writes these
    for part in ("node", "cpu"):
        mount("--bind", f"{case['machine']}/{part}", f"/sys/devices/system/{part}")
    mount("--bind", f"{case['machine']}/meminfo", "/proc/meminfo")
    for path, value in case["files"].items():
        write(path, value)
    os.makedirs(f"{HOME}/empty", exist_ok=True)
    os.makedirs("/var/lib/kubelet", exist_ok=True)
    with socket.socket() as control:  # loopback
        fcntl.ioctl(control, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))


def wait(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def configz():
    import ssl
    import urllib.request

    plain = ssl.create_default_context()
    plain.check_hostname, plain.verify_mode = False, ssl.CERT_NONE
    with contextlib.suppress(OSError), urllib.request.urlopen("https://127.0.0.1:10250/configz", timeout=5, context=plain) as answer:
        return json.load(answer)["kubeletconfig"]
    return None


def written():
    """What the kubelet has written of what the test wants to see again."""
    found = {}
    for name in ("cpu_manager_state", "memory_manager_state", "pki/kubelet.crt", "pki/kubelet.key"):
        with contextlib.suppress(FileNotFoundError), open(f"/var/lib/kubelet/{name}", encoding="latin-1") as file:
            found[name] = file.read()
    return found


def main(folder):
    with open(f"{folder}/case.json", encoding="utf-8") as file:
        case = json.load(file)
    prepare(case)
    with open(f"{folder}/log", "wb") as log:
        result = run(case, folder, log)
    with open(f"{folder}/result.json", "w", encoding="utf-8") as file:
        json.dump(result, file)


def run(case, folder, log):
    runtime = subprocess.Popen([case["runtime"], "/var/lib/runtime.sock"], stdout=log, stderr=log)
    kubelet = None
    try:
        wait(lambda: os.path.exists("/var/lib/runtime.sock"), 10)
        environment = {"PATH": os.environ["PATH"], "HOME": "/root", **case["environment"]}
        kubelet = subprocess.Popen([case["kubelet"], *case["flags"]], stdout=log, stderr=log, cwd=f"{HOME}/empty", env=environment)
        answer = None

        def settled():
            with open(f"{folder}/log", "rb") as file:
                return STARTED in file.read() or kubelet.poll() is not None

        done = wait(settled, case["seconds"])
        if done and kubelet.poll() is None:
            wait(lambda: kubelet.poll() is not None, 0.05)
        if kubelet.poll() is None:
            answer = configz()
        return {"done": done, "exit": kubelet.poll(), "configz": answer, "written": written()}
    finally:
        for process in (kubelet, runtime):
            if process is not None:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(signal.SIGKILL)
                process.wait()


if __name__ == "__main__":
    main(sys.argv[1])
