"""The image of daemonset/Containerfile, built and run by podman and runc as a manifest's pod asks.

Its base is a Debian with Python that is made here once (mmdebstrap) and named as the Containerfile names it. Bases and images are in a
store of the tests' own, apart from what podman keeps for this machine: one image, replaced whenever a file that it is made of changes.
"""

import configparser
import fcntl
import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.real.conftest import CACHE, need_real
from tests.real.manifests import rendered

ROOT = Path(__file__).parents[2]
CONTAINERFILE = ROOT / "daemonset/Containerfile"
IGNORED = ROOT / "daemonset/Containerfile.dockerignore"
IMAGE = "localhost/hostagent-tests:current"
#: The commit that it is said to be of.
REVISION = "c0ffee" * 6 + "c0ff"
_SUITE = "trixie"
#: As slim images of Python are made: no documentation, no bytecode.
_OPTIONS = (
    "--variant=minbase",
    "--include=ca-certificates,python3,python3-venv",
    '--aptopt=APT::Install-Recommends "false"',
    *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")),
    '--customize-hook=find "$1/usr" -name __pycache__ -prune -exec rm -rf {} +',
)
_STORE, _RUN = Path(CACHE, "podman"), Path("/run/hostagent-tests-podman")
_SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
#: What a machine without CAP_SYS_RESOURCE may set too.
_LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000")
_UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
#: Keys of a pod and of its container that this translation knows: another one is another manifest.
_POD = {
    "affinity", "automountServiceAccountToken", "containers", "enableServiceLinks", "nodeSelector", "priorityClassName", "serviceAccountName",
    "securityContext", "terminationGracePeriodSeconds", "tolerations", "volumes",
}  # fmt: skip
_CONTAINER = {
    "args", "env", "image", "imagePullPolicy", "livenessProbe", "name", "ports", "readinessProbe", "resources", "securityContext",
    "startupProbe", "volumeMounts",
}  # fmt: skip


def podman(*words: object, check: bool = True, timeout: float = 600) -> "subprocess.CompletedProcess[str]":
    program = need_real("podman", "apt-get install podman runc")
    own = (f"--root={_STORE}", f"--runroot={_RUN}", "--runtime=runc", "--cgroup-manager=cgroupfs", "--events-backend=file")
    limits = _LIMITS if words[0] == "run" else ()
    done = subprocess.run(
        [program, *own, str(words[0]), *limits, *map(str, words[1:])], capture_output=True, text=True, check=False, timeout=timeout
    )
    assert done.returncode == 0 or not check, f"podman {words}: {done.stdout[-2000:]}{done.stderr[-3000:]}"
    return done


def base_name() -> str:
    """The name of the base, as the Containerfile says it."""
    return re.search(r"^ARG BASE=(\S+)$", CONTAINERFILE.read_text(), re.MULTILINE)[1]


def _base() -> Path:
    """An archive of the base; made once."""
    program = need_real("mmdebstrap", "sudo bash tests/real/install.sh")
    kept = Path(CACHE, f"image-base-{hashlib.sha256(repr((_SUITE, _OPTIONS)).encode()).hexdigest()[:12]}.tar")
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        mirror = re.search(r"^URIs: (\S+)", _SOURCES.read_text(), re.MULTILINE)[1] if _SOURCES.exists() else ""
        made = [program, "--quiet", "--mode=root", *_OPTIONS, _SUITE, f"{kept}.part.tar", *filter(None, [mirror])]
        subprocess.run(made, check=True, timeout=600)
        os.replace(f"{kept}.part.tar", kept)
    return kept


def context() -> "list[str]":
    """The files of a clone that the build sees: those that the ignore file lets in."""
    lines = [line for line in IGNORED.read_text().splitlines() if line and not line.startswith("#")]
    wanted = tuple(line[1:] for line in lines if line.startswith("!"))
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.split("\0") if any(name == one or name.startswith(f"{one}/") for one in wanted)]
    return sorted(name for name in names if (ROOT / name).is_file())


def _key() -> str:
    found = hashlib.sha256(repr((_SUITE, _OPTIONS)).encode())
    for name in (*context(), *(str(one.relative_to(ROOT)) for one in (CONTAINERFILE, IGNORED))):
        found.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    return found.hexdigest()[:16]


@cache
def image() -> str:
    """The image of this tree, built where it is not there yet. Root alone: its store has files of all users."""
    need_real("runc", "apt-get install podman runc")
    _STORE.mkdir(parents=True, exist_ok=True)
    key = _key()
    with Path(CACHE, "podman.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if built_of() != key:
            podman("import", _base(), base_name())
            build("--label", f"test.key={key}", "--build-arg", f"REVISION={REVISION}", "--tag", IMAGE)
            podman("image", "prune", "--force")
    return IMAGE


def build(*options: str) -> None:
    """By the Containerfile as it stands. What this machine's pip needs to reach an index comes from outside."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as settings:
        found = configparser.RawConfigParser()
        found.read("/etc/pip.conf")
        of_pip = {name[4:].lower().replace("_", "-"): value for name, value in os.environ.items() if name.startswith("PIP_")}
        found["global"] = {**dict(found.items("global") if found.has_section("global") else ()), **of_pip}
        found.write(settings)
        settings.flush()
        links = os.environ.get("PIP_FIND_LINKS", "")
        mounts = [f"{settings.name}:/etc/pip.conf", *(f"{path}:{path}" for path in ("/etc/ssl/certs", links) if os.path.isdir(path))]
        kept = ("--pull=never", "--network=host", "--layers=false", "--ulimit=nofile=1024:1024")
        podman("build", *kept, *(f"--volume={one}:ro" for one in mounts), "--file", CONTAINERFILE, *options, ROOT)


def built_of() -> str:
    """The hash of what the image was made of; "" where there is none."""
    found = podman("image", "inspect", IMAGE, check=False)
    return str((json.loads(found.stdout)[0].get("Labels") or {}).get("test.key", "")) if found.returncode == 0 else ""


def inspected(name: str) -> Any:
    return json.loads(podman("image", "inspect", name).stdout)[0]


class Pod:
    """The pod of the DaemonSet that an overlay makes, and what it finds where on its host.

    `host`: the directory that is its host's /; `folder`: where the kubelet has its volumes. `profile`: instead of the overlay's.
    """

    def __init__(self, overlay: str, host: Path, folder: Path, profile: str = "") -> None:
        objects = rendered(overlay)
        self.spec = next(one for one in objects if one["kind"] == "DaemonSet")["spec"]["template"]["spec"]
        assert {*self.spec} <= _POD, f"the pod has {[*self.spec]}: this translation knows no such key"
        (self.container,) = self.spec["containers"]
        assert {*self.container} <= _CONTAINER, f"the container has {[*self.container]}"
        self.overlay, self.host, self.folder = overlay, host, folder
        maps = {one["metadata"]["name"]: one["data"] for one in objects if one["kind"] == "ConfigMap"}
        self._maps = {**maps, "kube-root-ca.crt": {"ca.crt": ""}}
        if profile:
            self._maps["hostagent-profile"] = {"profile.yaml": profile}
        self._values = {"spec.nodeName": "gpu-7", "status.podIP": "127.0.0.1", "metadata.namespace": "hostagent"}

    @property
    def state(self) -> Path:
        return self.host / "run/hostagent"

    def volume(self, name: str) -> Path:
        """Where the kubelet has written it."""
        return self.folder / "volumes" / name

    def limits(self) -> "dict[str, Any]":
        return dict(self.container["resources"]["limits"])

    def probe(self, name: str) -> "dict[str, Any]":
        return dict(self.container[name])

    def options(self) -> "list[str]":
        """Options of podman, which takes the place of a container runtime."""
        environment = {one["name"]: self._value(one) for one in self.container.get("env", ())}
        return [
            *_LIMITS,
            *self.rights(),
            *self._resources(),
            *self._mounts(),
            *(f"--env={name}={is_}" for name, is_ in environment.items()),
        ]

    def arguments(self) -> "list[str]":
        values = {one["name"]: self._value(one) for one in self.container.get("env", ())}
        return [re.sub(r"\$\((\w+)\)", lambda found: values[found[1]], one) for one in self.container["args"]]

    def _value(self, variable: Mapping[str, Any]) -> str:
        return str(variable["value"] if "value" in variable else self._values[variable["valueFrom"]["fieldRef"]["fieldPath"]])

    def rights(self) -> "Iterator[str]":
        """A container without a profile of system calls has no filter in Kubernetes; a privileged one has neither filter nor device rules."""
        asked = {**self.spec.get("securityContext", {}), **self.container.get("securityContext", {})}
        capabilities, seccomp = asked.pop("capabilities", {}), asked.pop("seccompProfile", {}).get("type", "Unconfined")
        is_privileged = asked.pop("privileged", False)
        yield f"--user={asked.pop('runAsUser')}:{asked.pop('runAsGroup', 0)}"
        yield from ["--privileged"] if is_privileged else []
        yield from ["--read-only", "--read-only-tmpfs=false"] if asked.pop("readOnlyRootFilesystem", False) else []
        yield from [] if asked.pop("allowPrivilegeEscalation", True) else ["--security-opt=no-new-privileges"]
        yield from (f"--cap-drop={one}" for one in capabilities.get("drop", ()))
        yield from (f"--cap-add={one}" for one in capabilities.get("add", ()))
        assert seccomp in ("Unconfined", "RuntimeDefault"), seccomp
        yield from [] if is_privileged or seccomp == "RuntimeDefault" else ["--security-opt=seccomp=unconfined"]
        asked.pop("runAsNonRoot", None)
        assert not asked, f"this translation knows no {asked}"

    def _resources(self) -> "Iterator[str]":
        for name, value in self.limits().items():
            if name == "cpu":
                yield f"--cpus={int(value[:-1]) / 1000 if str(value).endswith('m') else float(value)}"
            elif name == "memory":
                yield f"--memory={int(value[:-2]) * _UNITS[value[-2:]]}b"

    def _mounts(self) -> "Iterator[str]":
        volumes = {one["name"]: one for one in self.spec["volumes"]}
        for one in self.container["volumeMounts"]:
            volume, where = volumes[one["name"]], one["mountPath"]
            if "emptyDir" in volume:
                yield f"--tmpfs={where}"
                continue
            flags = ["ro"] if one.get("readOnly") else ["rw"]
            flags += {"HostToContainer": ["rslave"], "Bidirectional": ["rshared"]}.get(one.get("mountPropagation", ""), [])
            yield f"--volume={self._source(volume)}:{where}:{','.join(flags)}"

    def _source(self, volume: Mapping[str, Any]) -> Path:
        if "hostPath" in volume:
            place = self.host / volume["hostPath"]["path"].lstrip("/")
            place.mkdir(parents=True, exist_ok=volume["hostPath"]["type"] in ("Directory", "DirectoryOrCreate"))
            return place
        if "configMap" in volume:
            return kubelet_volume(self.volume(volume["name"]), self._maps[volume["configMap"]["name"]])
        files = {"token": "no token", "namespace": "hostagent", "ca.crt": ""}
        return kubelet_volume(self.volume(volume["name"]), files)


def kubelet_volume(place: Path, files: Mapping[str, str]) -> Path:
    """As the kubelet writes ConfigMaps and projected volumes: everybody may write the directory, and what it shows are links into another
    one, which is exchanged as a whole.
    """
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o777)
    written = Path(tempfile.mkdtemp(prefix="..2026_11_30_", dir=place))
    written.chmod(0o755)
    for name, text in files.items():
        (written / name).write_text(text)
        (written / name).chmod(0o644)
        if not (place / name).is_symlink():
            (place / name).symlink_to(f"..data/{name}")
    (place / "..data_tmp").symlink_to(written.name)
    os.replace(place / "..data_tmp", place / "..data")
    return place


@contextmanager
def running(pod: Pod, *more: str, arguments: "tuple[str, ...]" = (), network: str = "none") -> "Iterator[str]":
    """The id of the pod's container, started with its arguments and these. `more`: further options of podman. Removed on leaving."""
    words = ("run", "--detach", f"--network={network}", *pod.options(), *more, image(), *pod.arguments(), *arguments)
    found = podman(*words).stdout.strip()
    try:
        yield found
    finally:
        podman("rm", "--force", "--time=0", found)


def once(pod: Pod, *arguments: str, more: "tuple[str, ...]" = ()) -> "subprocess.CompletedProcess[str]":
    """hostagent with `arguments` in the place of the manifest's, in the pod's container, until it ends."""
    return podman("run", "--rm", "--network=none", *pod.options(), *more, image(), *arguments, check=False)


def bundle(pod: Pod, place: Path, *arguments: str) -> None:
    """What runc needs to start the pod's container in the machine whose / is the pod's host: `place` is below that.

    As podman writes it for runc, with the machine's places; the limits of control groups of version 1 stay away, the device rules do not.
    """
    words = ("create", "--network=none", *_LIMITS, *pod.options(), image(), *arguments)
    made = podman(*words).stdout.strip()
    try:
        podman("init", made)
        config = json.loads(Path(json.loads(podman("inspect", made).stdout)[0]["OCIConfigPath"]).read_text())
        (place / "rootfs").mkdir(parents=True)
        podman("export", f"--output={place}/rootfs.tar", made)
        subprocess.run(["tar", "-x", "-f", place / "rootfs.tar", "-C", place / "rootfs"], check=True)
        (place / "rootfs.tar").unlink()
    finally:
        podman("rm", "--force", "--time=0", made)
    top = str(pod.host)
    mounts = [one for one in config["mounts"] if one["type"] != "bind" or one["source"].startswith(top)]
    for one in mounts:
        if one["type"] == "bind":
            one["source"] = one["source"].removeprefix(top) or "/"
    config["root"]["path"], config["mounts"] = "rootfs", mounts
    config.pop("hooks", None)
    config["process"].pop("oomScoreAdj", None)
    linux = config["linux"]
    linux["resources"], linux["cgroupsPath"] = {"devices": linux["resources"].get("devices", [])}, "/hostagent-pod"
    linux["namespaces"] = [{"type": one["type"]} for one in linux["namespaces"]]
    (place / "config.json").write_text(json.dumps(config))
