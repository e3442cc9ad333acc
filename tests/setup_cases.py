"""What TAO's callers meet: flags, variables and tools, and the lines and the exit code of the answer.

Where `script` is true the lines are those that setup-nvidia-gpu-host.sh itself prints, worked out from its text and from runs of it; elsewhere
they say what hostagent does instead of a false pass, and `why` says which.
"""

from typing import NamedTuple

#: What each tool prints; a tool that is not named is not on PATH. A first line "exit N" ends it with that code, "hang" hangs.
READY = {
    "nvidia-smi": "580.65.06",
    "nvidia-smi -L": "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)",
    "nvcc": "Cuda compilation tools, release 13.0, V13.0.88",
    "dpkg-query": "1.19.0-1",
    "docker": '{"nvidia":{"path":"nvidia-container-runtime"},"runc":{"path":"runc"}}',
}
DETECTED = "INFO: detected Debian GNU/Linux 12 (bookworm) (family=debian, manager=apt-get)"
HINT = ("", "Run with --install --yes after user approval to install or update the runtime.")
PINNED = ("", "Run with --install --yes after user approval to install the pinned runtime.")
NO_DOCKER = (
    "MISSING: Docker is not installed.",
    "         Rerun with --install (not --skip-docker-install) to install",
    "         'docker.io' via apt and finish the NVIDIA runtime wiring.",
)
DRIVER, CUDA, TOOLKIT = (
    "OK: NVIDIA driver 580.65.06 >= 580",
    "OK: CUDA Toolkit 13.0 >= 13.0",
    "OK: NVIDIA Container Toolkit 1.19.0 >= 1.19.0",
)
DOCKER, UNREACHABLE = "OK: Docker NVIDIA runtime configured", "MISSING: Docker NVIDIA runtime not configured or Docker unreachable"
K8S, NO_K8S = "OK: Kubernetes reports nvidia.com/gpu allocatable", "WARN: Kubernetes does not report nvidia.com/gpu allocatable"
NO_KUBECTL = "WARN: kubectl not found; cannot check cluster GPU capacity"
A = ("OK: NVIDIA driver branch 580", "OK: CUDA Toolkit 13.0 at {path}", "OK: NVIDIA Container Toolkit 1.19.0")


class Case(NamedTuple):
    """`tools` stand over `READY`, None takes one away. `lines` are the first of the answer, `tells` a part of one that follows."""

    lines: tuple[str, ...]
    code: int = 0
    args: tuple[str, ...] = ()
    environment: dict[str, str] = {}  # noqa: RUF012
    tools: dict[str, "str | None"] = {}  # noqa: RUF012
    script: bool = True
    tells: str = ""
    why: str = ""


def driver(found: str, wanted: str = "580") -> str:
    return f"MISSING: visible GPU with NVIDIA driver >= {wanted} (detected: {found})"


def cuda(found: str, wanted: str = "13.0") -> str:
    return f"MISSING: CUDA Toolkit >= {wanted} (detected: {found})"


def toolkit(found: str, wanted: str = "1.19.0") -> str:
    return f"MISSING: NVIDIA Container Toolkit >= {wanted} (detected: {found})"


def of_driver(printed: "str | None", line: str, code: int = 1, listed: str | None = READY["nvidia-smi -L"], **more) -> Case:
    hint = HINT if code else ()
    return Case((line, CUDA, TOOLKIT, DOCKER, DETECTED, *hint), code, tools={"nvidia-smi": printed, "nvidia-smi -L": listed}, **more)


def of_cuda(printed: "str | None", line: str, code: int = 1, **more) -> Case:
    return Case((DRIVER, line, TOOLKIT, DOCKER, DETECTED, *(HINT if code else ())), code, tools={"nvcc": printed}, **more)


def of_toolkit(line: str, code: int = 1, *, script: bool = True, why: str = "", tells: str = "", **tools) -> Case:
    named = {name.replace("_", "-"): printed for name, printed in tools.items()}
    return Case(
        (DRIVER, CUDA, line, DOCKER, DETECTED, *(HINT if code else ())),
        code,
        tools={"dpkg-query": None, **named},
        script=script,
        why=why,
        tells=tells,
    )


def of_docker(printed: "str | None", lines: tuple[str, ...] = (UNREACHABLE,), code: int = 1, **more) -> Case:
    return Case((DRIVER, CUDA, TOOLKIT, *lines, DETECTED, *(HINT if code else ())), code, tools={"docker": printed}, **more)


def of_nodes(printed: "str | None", line: str, backend: str = "kubernetes", **more) -> Case:
    return Case((DRIVER, CUDA, TOOLKIT, line, DETECTED), 0, ("--backend", backend), tools={"docker": None, "kubectl": printed}, **more)


def exactly(number: int, line: str, printed: "str | None" = None, tool: str = "", **more) -> Case:
    """7.0, with the line of one part."""
    lines = (*A[:number], line, *A[number + 1 :], DOCKER, DETECTED, *PINNED)
    return Case(lines, 1, ("--exact",), {"NVIDIA_CUDA_PATH": "{path}"}, {tool: printed} if tool else {}, **more)


def bounded(args: tuple[str, ...], driver_line: str, cuda_line: str, toolkit_line: str, code: int = 0, **environment: str) -> Case:
    lines = (driver_line, cuda_line, toolkit_line, DOCKER, DETECTED, *(HINT if code else ()))
    return Case(lines, code, args, environment)


TWO = "GPU 0: A (UUID: GPU-1)\nGPU 1: A (UUID: GPU-2)"
ARGS = ("--min-driver-version", "580.65.06", "--min-cuda-version", "13.0.0", "--min-container-toolkit-version", "1.19")
BRANCH = {"NVIDIA_DRIVER_BRANCH": "580", "NVIDIA_CUDA_PATH": "{path}"}
CASES: dict[str, Case] = {
    # the six behaviours that upstream tests
    "ready": Case((DRIVER, CUDA, TOOLKIT, DOCKER, DETECTED)),
    "newer versions pass": Case(
        ("OK: NVIDIA driver 595.10 >= 580", "OK: CUDA Toolkit 13.2 >= 13.0", "OK: NVIDIA Container Toolkit 1.20.1 >= 1.19.0", DOCKER, DETECTED),
        tools={"nvidia-smi": "595.10", "nvcc": "release 13.2, V13.2.1", "dpkg-query": "1.20.1-1"},
    ),
    "overrides at the bound pass": bounded(
        ARGS, "OK: NVIDIA driver 580.65.06 >= 580.65.06", "OK: CUDA Toolkit 13.0 >= 13.0.0", "OK: NVIDIA Container Toolkit 1.19.0 >= 1.19"
    ),
    "driver below its bound": bounded(("--min-driver-version", "590"), driver("580.65.06", "590"), CUDA, TOOLKIT, 1),
    "cuda below its bound": bounded(("--min-cuda-version", "13.1"), DRIVER, cuda("13.0", "13.1"), TOOLKIT, 1),
    "toolkit below its bound": bounded(("--min-container-toolkit-version", "1.19.1"), DRIVER, CUDA, toolkit("1.19.0", "1.19.1"), 1),
    # variables, and flags over them
    "driver by variable": bounded((), driver("580.65.06", "590"), CUDA, TOOLKIT, 1, TAO_MIN_DRIVER_VERSION="590"),
    "cuda by variable": bounded((), DRIVER, cuda("13.0", "14"), TOOLKIT, 1, TAO_MIN_CUDA_VERSION="14"),
    "toolkit by variable": bounded((), DRIVER, CUDA, toolkit("1.19.0", "1.20"), 1, TAO_MIN_CONTAINER_TOOLKIT_VERSION="1.20"),
    "a flag wins over its variable": bounded(
        ("--min-driver-version", "570"), "OK: NVIDIA driver 580.65.06 >= 570", CUDA, TOOLKIT, TAO_MIN_DRIVER_VERSION="999"
    ),
    "an empty variable is not set": bounded((), DRIVER, CUDA, TOOLKIT, TAO_MIN_DRIVER_VERSION=""),
    "a minimum with zeros in front": bounded(("--min-driver-version", "0580"), "OK: NVIDIA driver 580.65.06 >= 0580", CUDA, TOOLKIT),
    "the last mode wins": Case((DRIVER, CUDA, TOOLKIT, DOCKER, DETECTED), 0, ("--install", "--check-only")),
    "skips say nothing of a check": Case(
        (DRIVER, CUDA, TOOLKIT, *NO_DOCKER, DETECTED, *HINT),
        1,
        ("--skip-docker-install", "--skip-docker-config", "--skip-docker-group", "-y"),
        tools={"docker": None},
    ),
    # the driver
    "no nvidia-smi": of_driver(None, driver("none"), listed=None),
    "an older driver": of_driver("570.211.01", driver("570.211.01")),
    "a driver of one field": of_driver("580", "OK: NVIDIA driver 580 >= 580", 0),
    "a driver of two fields": of_driver("580.95", "OK: NVIDIA driver 580.95 >= 580", 0),
    "a driver with blanks around": of_driver("  580.65.06  ", DRIVER, 0),
    "the list of GPUs fails": of_driver("580.65.06", driver("580.65.06"), listed="exit 9"),
    "nvidia-smi fails": of_driver("exit 9", driver("none"), listed="exit 9", tells="nvidia-smi"),
    "[N/A] is no version": of_driver("[N/A]", driver("none"), script=False, why="it says OK: NVIDIA driver [N/A]", tells="[N/A]"),
    "an empty version": of_driver("", driver("none")),
    "rubbish for a version": of_driver("Failed to initialize NVML", driver("none"), script=False, why="it says what was printed"),
    "the lowest of two drivers": of_driver("580.65.06\n570.10", driver("570.10"), listed=TWO, script=False, why="it reads the first GPU"),
    "a second GPU does not answer": of_driver(
        "580.65.06\n[N/A]", driver("580.65.06"), listed=TWO, script=False, why="it reads the first GPU", tells="WARN: GPU 1 does not answer"
    ),
    "a second GPU has no line": of_driver("580.65.06", driver("580.65.06"), listed=TWO, script=False, why="it reads the first GPU"),
    "two GPUs": of_driver("580.65.06\n580.65.06", DRIVER, 0, listed=TWO),
    "a candidate of the driver": of_driver("580.10-rc1", driver("none"), script=False, why="bash fails on it"),
    # the CUDA toolkit
    "no nvcc": of_cuda(None, cuda("none")),
    "an older nvcc": of_cuda("release 12.8, V12.8.93", cuda("12.8")),
    "nvcc of one field": of_cuda("release 13, V13", "OK: CUDA Toolkit 13 >= 13.0", 0),
    "nvcc of three fields": of_cuda("release 13.0.2, V13.0.2", "OK: CUDA Toolkit 13.0.2 >= 13.0", 0),
    "nvcc fails": of_cuda("exit 1", cuda("none")),
    "nvcc prints rubbish": of_cuda("nvcc: command line error", cuda("none")),
    "nvcc prints nothing": of_cuda("", cuda("none")),
    "nvcc at NVIDIA_CUDA_PATH first": Case(
        (DRIVER, cuda("12.8"), TOOLKIT, DOCKER, DETECTED, *HINT),
        1,
        environment={"NVIDIA_CUDA_PATH": "{path}"},
        tools={"{path}/bin/nvcc": "release 12.8, V12.8.93"},
    ),
    "NVIDIA_CUDA_PATH without one": Case((DRIVER, CUDA, TOOLKIT, DOCKER, DETECTED), environment={"NVIDIA_CUDA_PATH": "/nonexistent/a b'\"\n"}),
    # the Container Toolkit
    "no tool knows the toolkit": of_toolkit(toolkit("none")),
    "an older toolkit": of_toolkit(toolkit("1.18.2"), dpkg_query="1.18.2-1"),
    "a toolkit of two fields": of_toolkit("OK: NVIDIA Container Toolkit 1.19 >= 1.19.0", 0, dpkg_query="1.19-1"),
    "a toolkit of one field": of_toolkit(toolkit("none"), dpkg_query="2"),
    "a toolkit with an epoch": of_toolkit("OK: NVIDIA Container Toolkit 1.19.2 >= 1.19.0", 0, dpkg_query="2:1.19.2-1"),
    "a candidate of dpkg": of_toolkit(toolkit("1.19.0~rc.1"), dpkg_query="1.19.0~rc.1-1", script=False, why="it says OK: 1.19.0"),
    "a candidate of nvidia-ctk": of_toolkit(
        toolkit("1.19.0~rc.1"),
        nvidia_ctk="NVIDIA Container Toolkit CLI version 1.19.0-rc.1",
        script=False,
        why="it says OK: 1.19.0",
    ),
    "a candidate after the minimum": of_toolkit(
        "OK: NVIDIA Container Toolkit 1.20.0~rc.2 >= 1.19.0", 0, dpkg_query="1.20.0~rc.2-1", script=False, why="it says 1.20.0"
    ),
    "rpm after dpkg": of_toolkit(TOOLKIT, 0, dpkg_query="exit 1", rpm="1.19.0"),
    "rpm alone": of_toolkit(TOOLKIT, 0, rpm="1.19.0"),
    "rpm has no such package": of_toolkit(toolkit("none"), rpm="package nvidia-container-toolkit is not installed"),
    "nvidia-ctk last": of_toolkit(TOOLKIT, 0, nvidia_ctk="NVIDIA Container Toolkit CLI version 1.19.0"),
    "dpkg before rpm": of_toolkit(toolkit("1.18.0"), dpkg_query="1.18.0-1", rpm="1.19.0"),
    "dpkg-query prints rubbish": of_toolkit(toolkit("none"), dpkg_query="?????"),
    # Docker
    "no docker": of_docker(None, NO_DOCKER),
    "docker fails": of_docker("exit 1"),
    "docker without the runtime": of_docker('{"runc":{"path":"runc"}}'),
    "docker prints null": of_docker("null"),
    "docker prints rubbish": of_docker("Emulate Docker CLI using podman", tells="WARN: Docker"),
    "a runtime with nvidia in its name": of_docker('{"my-nvidia":{"path":"x"}}'),
    "local-docker": Case((DRIVER, CUDA, TOOLKIT, DOCKER, DETECTED), 0, ("--backend", "local-docker")),
    "another name of Docker's package": Case(
        (DRIVER, CUDA, TOOLKIT, NO_DOCKER[0], NO_DOCKER[1], NO_DOCKER[2].replace("docker.io", "docker-ce"), DETECTED, *HINT),
        1,
        environment={"DOCKER_PACKAGE": "docker-ce"},
        tools={"docker": None},
    ),
    "its new variable wins": Case(
        (DRIVER, CUDA, TOOLKIT, NO_DOCKER[0], NO_DOCKER[1], NO_DOCKER[2].replace("docker.io", "moby-engine"), DETECTED, *HINT),
        1,
        environment={"DOCKER_PACKAGE": "docker-ce", "DOCKER_PACKAGE_DEBIAN": "moby-engine"},
        tools={"docker": None},
    ),
    # Kubernetes: never the exit code
    "no kubectl": of_nodes(None, NO_KUBECTL),
    "kubectl fails": of_nodes("exit 1", NO_K8S),
    "allocatable GPUs": of_nodes("a\t8", K8S, "k8s"),
    "no allocatable GPUs": of_nodes("a\t0\nb\t", NO_K8S),
    "only the second node has GPUs": of_nodes("a\t0\nb\t8", K8S, script=False, why="it reads the first node", tells="over all nodes"),
    "this node has none": of_nodes("{node}\t0\nb\t8", NO_K8S, script=False, why="it reads any node", tells="on node"),
    "this node has some": of_nodes("a\t0\n{node}\t8", K8S, script=False, why="it reads the first node", tells="on node"),
    "nothing at all for Kubernetes": Case(
        (driver("none"), cuda("none"), toolkit("none"), NO_KUBECTL, DETECTED, *HINT), 1, ("--backend", "k8s"), tools=dict.fromkeys(READY)
    ),
    # 7.0
    "7.0": Case((*A, DOCKER, DETECTED), 0, ("--exact",), {"NVIDIA_CUDA_PATH": "{path}"}),
    "7.0 by its variable": Case((*A, DOCKER, DETECTED), 0, (), BRANCH),
    "7.0 by its other variable": Case(
        (*A, DOCKER, DETECTED), 0, (), {"NVIDIA_CONTAINER_TOOLKIT_VERSION": "1.19.0-1", "NVIDIA_CUDA_PATH": "{path}"}
    ),
    "a minimum makes it 7.1": Case((DRIVER, CUDA, TOOLKIT, DOCKER, DETECTED), 0, ("--min-driver-version", "580"), BRANCH),
    "7.0 with a newer driver": exactly(0, "MISSING: NVIDIA driver branch 580", "595.10", "nvidia-smi"),
    "7.0 with a longer branch": exactly(0, "MISSING: NVIDIA driver branch 580", "5800.1", "nvidia-smi"),
    "7.0 with a branch alone": exactly(0, "MISSING: NVIDIA driver branch 580", "580", "nvidia-smi"),
    "7.0 of another branch": Case(
        ("OK: NVIDIA driver branch 595", *A[1:], DOCKER, DETECTED), 0, (), {**BRANCH, "NVIDIA_DRIVER_BRANCH": "595"}, {"nvidia-smi": "595.10"}
    ),
    "7.0 with a newer CUDA": exactly(1, "MISSING: CUDA Toolkit 13.0 at {path}", "release 13.1, V13.1.1", "{path}/bin/nvcc"),
    "7.0 without CUDA at its path": Case(
        (A[0], "MISSING: CUDA Toolkit 13.0 at /nonexistent", A[2], DOCKER, DETECTED, *PINNED), 1, ("--exact",), {"NVIDIA_CUDA_PATH": "/nonexistent"}
    ),
    "7.0 with a newer toolkit": exactly(2, "MISSING: NVIDIA Container Toolkit 1.19.0", "1.19.1-1", "dpkg-query"),
    "7.0 with a candidate": exactly(
        2, "MISSING: NVIDIA Container Toolkit 1.19.0", "1.19.0~rc.1-1", "dpkg-query", script=False, why="what begins alike passes"
    ),
    "7.0 with another revision": Case((*A, DOCKER, DETECTED), 0, ("--exact",), {"NVIDIA_CUDA_PATH": "{path}"}, {"dpkg-query": "1.19.0-2"}),
    "7.0 without Docker": Case((*A, *NO_DOCKER, DETECTED, *PINNED), 1, ("--exact",), {"NVIDIA_CUDA_PATH": "{path}"}, {"docker": None}),
}  # fmt: skip
