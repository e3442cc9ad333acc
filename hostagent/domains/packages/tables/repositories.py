"""NVIDIA's package repositories: addresses, and checksums to verify a fetched key.

Sources, read 2026-11-23: NVIDIA Driver Installation Guide and NVIDIA Container Toolkit, Installation Guide (addresses, the options of the
toolkit's file for dnf); SHA-256 of cuda-keyring: GoogleCloudPlatform/compute-gpu-installation, linux/cuda_installer/config.py (ubuntu2204,
ubuntu2404, debian12, debian13, x86_64), and public installers that pin what they fetched (two that agree for ubuntu2604 and
ubuntu2404/sbsa, one for ubuntu2204/sbsa and debian12/sbsa). The toolkit's key: four public installers that agree.
"""

from collections.abc import Mapping
from typing import NamedTuple

CUDA_BASE = "https://developer.download.nvidia.com/compute/cuda/repos"
TOOLKIT_BASE = "https://nvidia.github.io/libnvidia-container/stable"

#: Directory of the CUDA repository by os-release's ID: the prefix of the version, and whether only the major version counts.
_DIRECTORIES: Mapping[str, tuple[str, bool]] = {
    "ubuntu": ("ubuntu", False),
    "debian": ("debian", True),
    **dict.fromkeys(("rhel", "rocky", "almalinux", "ol"), ("rhel", True)),
    "fedora": ("fedora", True),
    "amzn": ("amzn", True),
    "sles": ("sles", True),
    "opensuse-leap": ("opensuse", True),
    "azurelinux": ("azl", True),
}
#: `uname -m` to the last directory of the CUDA repositories, and to the toolkit's for Debian and Ubuntu.
_CUDA_ARCH: Mapping[str, str] = {"x86_64": "x86_64", "aarch64": "sbsa"}
_DEB_ARCH: Mapping[str, str] = {"x86_64": "amd64", "aarch64": "arm64"}

#: The package with a CUDA repository's key for apt, the same name in each, and the key's path in it.
_KEYRING = "cuda-keyring_1.1-1_all.deb"
_MEMBER = "usr/share/keyrings/cuda-archive-keyring.gpg"
#: SHA-256 of that package, by directory.
_KEYRINGS: Mapping[str, str] = {
    "ubuntu2204/x86_64": "d93190d50b98ad4699ff40f4f7af50f16a76dac3bb8da1eaaf366d47898ff8df",
    "ubuntu2204/sbsa": "36d1aed84dfcf93ee9a0212d149f1c4187db92e03ab96a759ec0689aa438fd9e",
    "ubuntu2404/x86_64": "d2a6b11c096396d868758b86dab1823b25e14d70333f1dfa74da5ddaf6a06dba",
    "ubuntu2404/sbsa": "6ea7d2737648936820e85677177957a0f6521b840d98eb0bbae0a4f003fa7249",
    "ubuntu2604/x86_64": "f7f474b5f6a4adf987aa587920df00e713285958ef6a913dda1945a544a3099e",
    "debian12/x86_64": "e7f219eab6fe4819cdb5c15b98233dc3420302d9c00883219cd3d896857cf48d",
    "debian12/sbsa": "bf2f53b1a19259501119f732bdef2699f8c80c69a18e6a78dad78d67d96766dc",
    "debian13/x86_64": "dd28f1f6ba0038180d6b23f846cefca1e3de4c9327751665241370bacea452a1",
}
_TOOLKIT_KEY = "https://nvidia.github.io/libnvidia-container/gpgkey"
_TOOLKIT_KEY_SHA256 = "c880576d6cf75a48e5027a871bac70fd0421ab07d2b55f30877b21f1c87959c9"
#: OpenPGP fingerprint of the key by the SHA-256 above, if one source has both; the others are unknown. Read 2026-11-23:
#: NVIDIA's own script for DGX Station, prepare-dgx-station-host.sh 2026-07-16.5 (ubuntu2404/sbsa); of the toolkit's key measured with gpg
#: 2.2.40 in NVIDIA/nvidia-docker, gpgkey (an older file of the same key), and a public record of what that SHA-256 holds.
FINGERPRINTS: Mapping[str, str] = {
    _KEYRINGS["ubuntu2404/sbsa"]: "EB693B3035CD5710E231E123A4B469963BF863CC",
    _TOOLKIT_KEY_SHA256: "C95B321B61E88C1809C4F759DDCAE044F796ECB0",
}
#: File of the key of the CUDA repositories for rpm, in each of them.
_RPM_KEY = "D42D0685.pub"


class KeySource(NamedTuple):
    """Source of a key. ``sha256`` (hex) is of the file at `url`; ``member`` is the key's path in it, "" if the file is the key."""

    url: str
    sha256: str
    member: str


def directory(id_: str, version_id: str, arch: str) -> str:
    """A distribution's directory below the CUDA repositories, "" for none. `system.tables.distributions` lists those that exist.

    >>> directory("ubuntu", "24.04", "x86_64"), directory("rocky", "9.4", "aarch64"), directory("amzn", "2023", "x86_64")
    ('ubuntu2404/x86_64', 'rhel9/sbsa', 'amzn2023/x86_64')
    """
    if id_ not in _DIRECTORIES or arch not in _CUDA_ARCH:
        return ""
    name, by_major = _DIRECTORIES[id_]
    version = version_id.partition(".")[0] if by_major else version_id.replace(".", "")
    return f"{name}{version}/{_CUDA_ARCH[arch]}" if version else ""


def cuda_url(id_: str, version_id: str, arch: str) -> str:
    """NVIDIA's repository with the driver, with its closing slash; "" for none.

    >>> cuda_url("debian", "12.7", "x86_64")
    'https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/'
    """
    below = directory(id_, version_id, arch)
    return f"{CUDA_BASE}/{below}/" if below else ""


def toolkit_url(database: str, arch: str) -> str:
    """NVIDIA's repository with the toolkit, one for all distributions of a package database.

    >>> toolkit_url("dpkg", "aarch64"), toolkit_url("dpkg", "riscv64")
    ('https://nvidia.github.io/libnvidia-container/stable/deb/arm64/', '')
    """
    if arch not in _CUDA_ARCH:
        return ""
    return f"{TOOLKIT_BASE}/deb/{_DEB_ARCH[arch]}/" if database == "dpkg" else f"{TOOLKIT_BASE}/rpm/{arch}/"


def cuda_key(id_: str, version_id: str, arch: str) -> "KeySource | None":
    """The key of that repository for apt; None if its checksum is unknown."""
    below = directory(id_, version_id, arch)
    return KeySource(f"{CUDA_BASE}/{below}/{_KEYRING}", _KEYRINGS[below], _MEMBER) if below in _KEYRINGS else None


def cuda_key_url(id_: str, version_id: str, arch: str) -> str:
    """The address from which an rpm package manager fetches that key itself."""
    return f"{cuda_url(id_, version_id, arch)}{_RPM_KEY}"


TOOLKIT_KEY = KeySource(_TOOLKIT_KEY, _TOOLKIT_KEY_SHA256, "")
