"""``docs/install.md``: made of what real commands printed and of the code's own tables by ``python -m tests.docs``; a test holds it."""

import ast
from pathlib import Path
from typing import get_args, get_type_hints

from hostagent.domains.packages.tables.repositories import _KEYRINGS, CUDA_BASE, FINGERPRINTS, TOOLKIT_KEY
from hostagent.plan.model import Asking
from hostagent.plan.offers import RefreshFault
from tests.golden import recorded_plan
from tests.real import recipe

PAGE = "docs/install.md"
_ROOT = Path(__file__).parent.parent
_TEXT = Path(__file__).with_name("install_page.md")
#: Recorded host whose plan the page shows.
_RECORDED = "hgx-h100-fabricmanager-mismatch"

#: Each refusal: when, and what to do. In the order in which an administrator meets them.
REFUSALS: dict[str, tuple[str, str]] = {
    "architecture": ("the CPU is neither x86-64 nor 64-bit Arm", "take the node out of the GPU pool"),
    "distribution": ("NVIDIA publishes no packages for the distribution or this version of it", "move the node to one that it does"),
    "container": ("hostagent runs in an application's container", "run it on the host, or in a pod with `--host-root`"),
    "managed-system": (
        "the vendor replaces the whole system (GKE's Container-Optimized OS, Bottlerocket, Talos, Flatcar, WSL and others)",
        "what its owner does; the refusal names the way",
    ),
    "manager": (
        "this version makes plans for dnf, zypper and tdnf, and carries out none of them",
        "do the steps of the plan with the host's own tools, then `hostagent check`",
    ),
    "dgx-os": ("DGX OS brings driver and toolkit by its own packages", "upgrade it as its guide says"),
    "driver-owned": ("the driver belongs to the image, the provider or the GPU Operator", "ask the owner, or set `driver.owner`"),
    "toolkit-owned": ("the same, of the toolkit", "ask the owner, or set `toolkit.owner`"),
    "runtime-owned": ("the same, of the runtime's configuration", "ask the owner, or set `toolkit.owner`"),
    "driver-container": ("a driver container has loaded the driver", "set `driver.enabled=false` in the GPU Operator, or `driver.owner`"),
    "runfile": ("the driver comes from a .run file", "`nvidia-uninstall`, then plan again"),
    "cloud-init": ("cloud-init's configuration installs a driver", "take `drivers:` out of it, or set `driver.owner: provider`"),
    "cloud-init-running": ("cloud-init is still setting up the host", "`cloud-init status --wait`"),
    "no-gpu": ("a live host has no NVIDIA GPU, and the profile requires one", "set `gpus.required: false`, or have the GPU looked at"),
    "passthrough": ("all GPUs are on vfio-pci, for virtual machines", "nothing: they need no driver on this host"),
    "unread": ("a fact that the plan needs could not be read", "run it as root; correct what it names; record a snapshot again"),
    "install-empty": ("the profile says what is accepted and not what to install (`driver.install`, `toolkit.install`)", "name a version or a branch"),
    "kernel-unknown": ("an image has no kernel below /lib/modules", "`--kernel RELEASE`"),
    "flavour-unknown": ("a GPU's PCI id is not known, and nothing serves the GPU now", "set `driver.flavour`"),
    "flavour-invalid": ("one kernel module, or this branch, cannot drive every GPU", "set `driver.flavour` or `driver.install`"),
    "no-packages": ("there are no such driver packages for this system", "change `install.origin`, `install.delivery` or `driver.flavour`"),
    "origin-second": ("packages of two origins are installed", "remove those of one origin"),
    "origin-crossed": ("the driver comes from another origin than `install.origin` names", "`origin: auto`, or remove the driver first"),
    "version-missing": ("the repositories do not have the driver that `driver.install` names", "name a version that is there"),
    "name-invalid": ("what the caller gives as a package's name is none", "one name, without a version"),
    "name-missing": ("the caller names a package of the driver, and no repository has it", "name one that is there"),
    "set-incomplete": ("they have it, and not all of its packages", "wait until the mirror is whole, or name another version"),
    "headers-missing": ("no repository has the headers of a kernel that gets a module", "bring them to the host, or boot another kernel"),
    "toolkit-missing": ("the repositories do not have all four packages of the toolkit at one accepted version", "name a version that is there"),
    "toolkit-unnamed": ("the toolkit has to change, and the profile names no version", "set `toolkit.install`"),
    "cuda-missing": ("the repositories do not have the CUDA toolkit that `cuda.install` names", "name a version that is there"),
    "security": ("the version has published vulnerabilities, and the profile says `security: critical`", "a repository with the corrected version"),
    "secure-boot": ("Secure Boot is on, and no key that DKMS signs with is enrolled", "signed modules, or `mokutil --import`"),
    "gpu-in-use": ("the loaded module must be exchanged, and programs use the GPUs", "drain the node, or `--in-use`"),
    "no-repository": ("NVIDIA has no such repository for the distribution, and the profile names none", "set `install.repositories`"),
    "no-key": ("this release does not know the key of the repository", "name a keyring file in `install.repositories`"),
    "repository-signature": ("a repository's signature is not valid", "correct the key or the mirror"),
    "repository-weak-key": ("its key or its signature is too weak for this package manager", "sign the mirror with a current key"),
    "repository-unreachable": ("it does not answer in time", "correct its address, or the network"),
    "repository-conflict": ("two files name one repository with different keys", "leave one of them"),
    "repository-lock": ("another package manager has the lock of the lists", "wait until it has ended"),
    "repository-key": ("the key cannot be fetched, or is not the one that is known", "name a keyring file in the profile"),
    "repository-error": ("the package manager cannot read its repositories for another reason, which it says", "correct that"),
    "pin": ("a pin or a lock of somebody else forbids the version; its file is named", "take it out, or set the profile to its version"),
    "transaction": ("the package manager refuses the transaction; its words are shown", "correct what it says"),
    "other-driver": ("the package of CUDA or Docker would bring, change or remove a driver", "name one without a driver"),
    "removes": ("the transaction would remove packages that are not the driver's", "remove them yourself if nobody needs them"),
    "kernel": ("the transaction would bring another kernel", "`install: {allow_kernel: true}`, or install the kernel yourself"),
    "space": ("a file system has no room", "free space: package caches, old kernels, container images, the journal"),
    "lock": ("another package manager holds its lock for longer than `install.lock_timeout_s`; who is named", "wait, or raise the limit"),
    "runtime-rejected": ("the runtime refuses its own configuration", "correct it; the runtime's words are shown"),
    "runtime-unversioned": ("containerd's file has no version line, or version 1", "`containerd config migrate`"),
    "runtime-edit": ("a file cannot be changed without a guess, such as one that a program writes", "add the entry by hand"),
    "runtime-drop-in": ("a drop-in of somebody else decides about the entry", "move what it sets into the main file, or remove it"),
    "runtime-operator": ("the GPU Operator has configured the runtime, and the profile gives the toolkit to the host", "one owner of the two"),
    "runtime-cri-off": ("containerd's CRI plugin is off, and a kubelet needs it", "take `cri` out of `disabled_plugins`"),
    "runtime-no-cdi": ("the runtime has no CDI, and `runtime.access` allows nothing else", "a newer runtime, or another way"),
    "runtime-own-tool": ("the runtime writes its configuration itself (MicroK8s and others)", "its own tool, which the refusal names"),
    "runtime-no-toolkit": ("an entry is needed, and no toolkit is installed or planned", "plan the toolkit, too"),
    "runtime-no-default": ("the profile's default runtime has no entry", "correct `runtime.default_runtime`"),
    "runtime-restart": ("a restart would stop containers", "stop them, use live-restore, or `install: {restart: always}`"),
    "runtime-no-unit": ("the runtime must restart, and no unit starts it", "`install: {restart: never}`, and restart it by hand"),
    "docker-none": ("`setup` needs Docker, and the distribution has none (Red Hat's family)", "Docker's own repository"),
    "docker-missing": ("the repositories do not have the packages of Docker's engine", "enable the repository that has them"),
    "docker-stand-in": ("the command `docker` is that of another program, such as Podman", "remove it, or leave Docker out"),
    "docker-masked": ("Docker's unit is masked", "`systemctl unmask docker.service`"),
    "docker-user": ("the user who is to use Docker does not exist on the host", "another user, or `--skip-docker-group`"),
}  # fmt: skip
#: What a part of an id can be that the code fills in.
_FILLED = {"fault.code": get_args(get_type_hints(RefreshFault)["code"]), "part": get_args(Asking)}


def ids_in_code() -> set[str]:
    """Ids of all refusals that the modules of the plan can make, without ``plan.``."""
    found = set[str]()
    for path in (_ROOT / "hostagent/plan").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("refusal", "Refusal") and node.args:
                found.update(_ids(node.args[0]))
    return found


def _ids(first: ast.expr) -> list[str]:
    if isinstance(first, ast.Constant):
        return [str(first.value).removeprefix("plan.")]
    if isinstance(first, ast.JoinedStr) and "id_" not in ast.unparse(first):
        texts = [""]
        for part in first.values:
            several = _FILLED[ast.unparse(part.value)] if isinstance(part, ast.FormattedValue) else [ast.literal_eval(part)]
            texts = [before + one for before in texts for one in several]
        return texts
    return []


def page() -> str:
    """The page as it should be today."""
    text = _TEXT.read_text(encoding="utf-8")
    parts = {
        "PROFILE": recipe.PROFILE.rstrip(),
        "DRAIN": recipe.DRAIN.rstrip(),
        "RECORDED": recorded_plan(_RECORDED).partition("\nFILES\n")[0].rstrip(),
        "REFUSALS": "\n".join(f"| `plan.{id_}` | {when} | {what} |" for id_, (when, what) in REFUSALS.items()),
        "KEYS": "\n".join(_key_rows()),
    }
    for scene in recipe.SCENES:  # of a refused plan the reason alone
        parts[scene.name] = f"$ hostagent {scene.words}\n{_printed(scene.name)}"
    for name, part in parts.items():
        text = text.replace(f"{{{{{name}}}}}", part)
    return text


def _printed(name: str) -> str:
    return (recipe.PLACE / f"{name}.txt").read_text(encoding="utf-8").partition("\nWHAT WOULD HAPPEN\n")[0].rstrip()


def _key_rows() -> list[str]:
    rows = [(f"`{CUDA_BASE}/{place}/`", "its package cuda-keyring_1.1-1_all.deb", digest) for place, digest in _KEYRINGS.items()]
    rows.append(("Container Toolkit", f"`{TOOLKIT_KEY.url}`", TOOLKIT_KEY.sha256))
    return [f"| {what} | {key} | `{digest}` | {_fingerprint(digest)} |" for what, key, digest in rows]


def _fingerprint(digest: str) -> str:
    return f"`{FINGERPRINTS[digest]}`" if digest in FINGERPRINTS else ""
