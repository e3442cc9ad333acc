"""The administrator's recipe of docs/install.md on a made root: ``python -m tests.real.recipe`` writes what its commands print to tests/recipe.

The root is Debian 12 below /mnt/image, in mounts of its own: apt, dpkg, dkms, depmod, initramfs-tools, systemctl, containerd's configuration and
nvidia-ctk are real; the driver's packages are stubs, and their repository is a directory of the image.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.real.installroots import Root, clone, place

PLACE = Path(__file__).parents[1] / "recipe"
#: The profile of the recipe; /mnt/mirror.gpg is the key that signs both repositories.
PROFILE = """\
schema_version: "1.3"
name: site
install:
  repositories:
    cuda: {url: "file:/srv/stub/cuda", key: /mnt/mirror.gpg}
    toolkit: {url: "file:/srv/stub/toolkit", key: /mnt/mirror.gpg}
"""
DRAIN = PROFILE.replace("install:\n", "install:\n  before: [[sh, -c, 'echo \"pod train-0 cannot be evicted\" >&2; exit 1']]\n")
_INSIDE = (
    'mount -t tmpfs tmpfs /mnt && mkdir /mnt/image && mount --bind "$0/root" /mnt/image && cp -a "$0/place/." /mnt && cd /mnt && exec "$@"'
)


class Scene(NamedTuple):
    """One command, the exit code that it must have, and what is wrong with the root meanwhile."""

    name: str
    words: str
    code: int
    switch: str = ""  # of the toolkit's maintainer script
    key: str = "good"  # that signs the toolkit's repository


_TARGET = "--root /mnt/image"
_OURS = f"{_TARGET} --profile site.yaml"
SCENES = (
    Scene("before", f"install --yes {_TARGET} --profile drain.yaml --only toolkit -o plan.txt", 4),
    Scene("refused", f"plan {_OURS} --only toolkit", 4, key="wrong"),
    Scene("plan", f"plan {_OURS}", 0),
    Scene("install", f"install --yes {_OURS} -o plan.txt", 0),
    Scene("again", f"install --yes {_OURS}", 0),
    Scene("check", f"check {_OURS} --only os,kernel,driver,toolkit,runtime,cdi", 0),
    Scene("list", f"rollback --list {_TARGET}", 0),
    Scene("rollback", f"rollback --yes {_TARGET}", 0),
    Scene("failed", f"install --yes {_OURS} --only toolkit -o plan.txt", 1, switch="fail"),
    Scene("continued", f"install --yes {_OURS} --only toolkit -o plan.txt", 0),
)


def played() -> Iterator[tuple[Scene, int, str]]:
    """Each scene with the exit code and the output of its command, one after the other on one root."""
    with place() as where:
        root = clone("debian", where)
        files = where / "place"
        files.mkdir()
        (files / "site.yaml").write_text(PROFILE, encoding="utf-8")
        (files / "drain.yaml").write_text(DRAIN, encoding="utf-8")
        shutil.copy(root.stubs.keys.path("good"), files / "mirror.gpg")
        for scene in SCENES:
            yield scene, *_played(root, where, scene)


def _played(root: Root, where: Path, scene: Scene) -> tuple[int, str]:
    root.switch("nvidia-container-toolkit-base", scene.switch)
    if scene.key != "good":
        root.publish("toolkit", key=scene.key)
    argv = ["unshare", "--mount", "sh", "-c", _INSIDE, str(where), sys.executable, "-m", "hostagent", *scene.words.split()]
    done = subprocess.run(
        argv,
        env={**os.environ, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=300,
        check=False,
    )
    if scene.key != "good":
        root.publish("toolkit")
    return done.returncode, done.stdout


def settled(text: str) -> str:
    """Without what is another each time: seconds, times of day, keys and sizes of packages that are made on the machine."""
    text = re.sub(r"\b\d+(?:\.\d)? s\b", "N s", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d", "DATE", text)
    text = re.sub(r"\bNO_PUBKEY [0-9A-F]+", "NO_PUBKEY KEY", text)
    return re.sub(r"\b\d+(?:\.\d)? [KM]iB\b", "SIZE", text)


def main() -> None:
    for scene, code, text in played():
        if code != scene.code:
            sys.exit(f"Error: '{scene.name}' ended with {code}, wanted {scene.code}. It said:\n{text}")
        (PLACE / f"{scene.name}.txt").write_text(text, encoding="utf-8")
        sys.stdout.write(f"{scene.name}\n")


if __name__ == "__main__":
    main()
