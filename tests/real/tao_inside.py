"""A user of TAO: SlurmSDK, over real ssh and scp, against a server of SSH in the same process. Run by test_slurm_tao.py, by the Python that has both.

Arguments: a folder, and JSON: "login" is the environment of the login node's commands, "job" what create_job takes. Prints JSON: how the job ended.
"""

import asyncio
import json
import os
import sys
import threading
import time
from pathlib import Path

_CLIENT = """#!/bin/sh
exec {program} -F {folder}/ssh.conf "$@"
"""
_CONFIG = """Host login
  HostName 127.0.0.1
  Port {port}
"""
_ENDED = ("Complete", "Error", "Canceled")
#: SCP itself, not SFTP below it, which the server does not have.
_PROGRAMS = {"ssh": "/usr/bin/ssh", "scp": "/usr/bin/scp -O"}


async def _serve(folder: Path, login: "dict[str, str]", started: "threading.Event") -> None:
    """A login node: each command runs here, with the environment `login`."""
    import asyncssh  # in that other Python alone

    async def run(process: "asyncssh.SSHServerProcess[bytes]") -> None:
        pipe = asyncio.subprocess.PIPE
        local = await asyncio.create_subprocess_shell(process.command or ":", stdin=pipe, stdout=pipe, stderr=pipe, env=login)
        await process.redirect(local.stdin, local.stdout, local.stderr)
        code = await local.wait()
        await process.stdout.drain()
        process.exit(code)

    keys = {name: asyncssh.generate_private_key("ssh-ed25519") for name in ("host", "user")}
    keys["user"].write_private_key(str(folder / "id_ed25519"))
    (folder / "id_ed25519").chmod(0o600)
    keys["user"].write_public_key(str(folder / "authorized_keys"))
    server = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[keys["host"]],
        authorized_client_keys=str(folder / "authorized_keys"),
        process_factory=run,
        encoding=None,
    )
    (folder / "ssh.conf").write_text(_CONFIG.format(port=server.get_port()))
    started.set()
    await asyncio.Event().wait()


def _clients(folder: Path) -> Path:
    place = folder / "clients"
    place.mkdir()
    for name, program in _PROGRAMS.items():
        (place / name).write_text(_CLIENT.format(program=program, folder=folder))
        (place / name).chmod(0o755)
    return place


def main() -> None:
    folder, wanted = Path(sys.argv[1]), json.loads(sys.argv[2])
    os.environ["PATH"] = f"{_clients(folder)}:{os.environ['PATH']}"
    os.environ["SSH_KEY_PATH"] = str(folder / "id_ed25519")
    started = threading.Event()
    threading.Thread(target=lambda: asyncio.run(_serve(folder, wanted["login"], started)), daemon=True).start()
    if not started.wait(30):
        sys.exit("the server of SSH did not start")
    from tao_sdk.platforms.slurm import SlurmSDK

    sdk = SlurmSDK(poll_interval=3600)  # asked below alone
    job = sdk.create_job(**wanted["job"])
    ends = time.monotonic() + wanted["seconds"]
    while (found := sdk.get_job_status(job.id)).status not in _ENDED and time.monotonic() < ends:
        time.sleep(0.1)
    runtime = sdk._handler.get_job_runtime_identity(job.id)
    ids = [*runtime["failed_slurm_job_ids"], runtime["slurm_job_id"]]
    answer = {"status": found.status, "message": found.message, "attempts": list(dict.fromkeys(ids)), "logs": sdk.get_job_logs(job.id)}
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)  # threads of the SDK and of the server go on


if __name__ == "__main__":
    main()
