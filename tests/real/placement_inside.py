"""Runs one kubelet with stub devices in namespaces of its own and gives it static pods one after the other. Started by tests, never imported.

argv: a directory with case.json: kubelet, runtime, machine, files (as `kubelet_inside` has them), devices, pods, seconds. It writes
result.json: ``pods``, one [phase, reason] a pod, ["exit", ""] from where the kubelet ended; ``devices``, what hostagent's own call of
podresources says then, None where the kubelet ended.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from kubelet_inside import HOME, prepare, wait, write

from hostagent.domains.kubelet import read_podresources

PLUGINS = "/var/lib/kubelet/device-plugins"


def status_of(name):
    """(phase, reason) of a static pod when it is decided, by the read-only port."""
    with contextlib.suppress(OSError, ValueError), urllib.request.urlopen("http://127.0.0.1:10255/pods", timeout=5) as answer:
        for pod in json.load(answer)["items"] or ():
            status = pod["status"]
            started = status.get("containerStatuses") or status.get("initContainerStatuses")
            if pod["metadata"]["name"].startswith(f"{name}-") and (status.get("phase") == "Failed" or started):
                return status["phase"], status.get("reason", "")
    return None


def registered(case):
    with contextlib.suppress(OSError, ValueError), open(f"{PLUGINS}/kubelet_internal_checkpoint", encoding="utf-8") as file:
        found = json.load(file)["Data"]["RegisteredDevices"] or {}
        return all(len(found.get(name) or ()) == sum(one["healthy"] for one in devices) for name, devices in case["devices"].items())
    return not case["devices"]


def place(case, kubelet):
    verdicts = []
    wait(lambda: registered(case) or kubelet.poll() is not None, case["seconds"])
    for number, pod in enumerate(case["pods"]):
        name = f"pod-{number}"
        pod["metadata"] = {"name": name, "namespace": "default", "uid": name}
        write(f"{HOME}/pods/{name}.json", json.dumps(pod))
        wait(lambda name=name: status_of(name) or kubelet.poll() is not None, case["seconds"])
        verdicts.append(("exit", "") if kubelet.poll() is not None else status_of(name) or ("undecided", ""))
        if verdicts[-1][0] in ("exit", "undecided"):
            break
    return verdicts


def devices(kubelet):
    if kubelet.poll() is not None:
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"/var/lib/kubelet/{read_podresources._SOCKET}")
        found = read_podresources._call(connection, time.monotonic() + 30)
    return found if isinstance(found, dict) else str(found)


def run(case, folder, log):
    os.makedirs(f"{HOME}/pods")
    os.makedirs(PLUGINS)
    write(f"{HOME}/devices.json", json.dumps(case["devices"]))
    words = [case["runtime"], "/var/lib/runtime.sock", PLUGINS, f"{HOME}/devices.json"]
    processes = [subprocess.Popen(words, stdout=log, stderr=log)]
    try:
        wait(lambda: os.path.exists("/var/lib/runtime.sock"), 10)
        environment = {"PATH": os.environ["PATH"], "HOME": "/root"}
        words = [case["kubelet"], "--config", f"{HOME}/config.json", "--hostname-override", "node"]
        processes.append(subprocess.Popen(words, stdout=log, stderr=log, cwd=f"{HOME}/empty", env=environment))
        return {"pods": place(case, processes[1]), "devices": devices(processes[1])}
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            process.wait()


def main(folder):
    with open(f"{folder}/case.json", encoding="utf-8") as file:
        case = json.load(file)
    prepare(case)
    with open(f"{folder}/log", "wb") as log:
        result = run(case, folder, log)
    with open(f"{folder}/result.json", "w", encoding="utf-8") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main(sys.argv[1])
