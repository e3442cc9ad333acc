"""``python -m release``: fills ``dist/`` with everything that is released, from the commit that is checked out."""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from release import pyz, sbom, sources, stage, sums
from release.wheels import ARCHES, PYTHONS, ROOT, Arch, Target, Wheel, all_wheels

KINDS = ("pyz", "packages", "wheel", "sdist", "wheels")
#: The list of parts, which is made when everything else is.
_SBOM = "hostagent-{}.spdx.json"


def main(arguments: Sequence[str]) -> None:
    chosen = _parsed(arguments)
    commit, version = sources.commit(), sources.version()
    if not (commit.is_clean or chosen.unclean):
        raise SystemExit(
            "Error: found uncommitted or untracked files, wanted a clean tree: artefacts carry the commit that they are built from.\n"
            "Commit them, or build the files as they are by 'python -m release --unclean'."
        )
    out: Path = chosen.out.resolve()
    if out.exists() and not _is_replaced(out):
        raise SystemExit(f"Error: found files in {out}, wanted a new or empty directory, or that of an earlier run, which is replaced.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".dist-") as folder:
        made = Path(folder, "made")
        made.mkdir()
        _build(chosen.kinds, chosen.arches, made, commit.epoch)
        artefacts = {path.name: path for path in made.iterdir() if path.is_file()}
        sbom.write(made / _SBOM.format(version), version, commit, _parts(chosen.arches), artefacts)
        sums.write(made)
        for path in (made, *made.rglob("*")):
            path.chmod(0o755 if path.is_dir() or path.suffix == ".pyz" else 0o644)
            os.utime(path, (commit.epoch, commit.epoch))
        if out.exists():
            shutil.rmtree(out)
        made.rename(out)
    for path in sorted(out.iterdir()):
        print(f"{_size(path):>12,}  {os.path.relpath(path)}")  # noqa: T201


def _is_replaced(out: Path) -> bool:
    is_ours = (out / sums.NAME).is_file() and any(out.glob("hostagent-*"))
    return is_ours or (out.is_dir() and not any(out.iterdir()))


def _build(kinds: Sequence[str], arches: Sequence[Arch], made: Path, epoch: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for arch in arches if {"pyz", "packages"} & {*kinds} else ():
            place = Path(folder, arch)
            stage.stage(arch, place)
            if "pyz" in kinds:
                pyz.build(place, arch, made, sources.version(), epoch)
            if "packages" in kinds:
                from release import packages  # it needs Go

                packages.build(place, arch, made, sources.version(), epoch)
        exported = Path(folder, "sources")
        sources.export(exported)
        for kind in ("wheel", "sdist"):
            if kind in kinds:
                stage.build(kind, exported, made)
    if "wheels" in kinds:
        for one in _parts(arches):
            (made / "wheels").mkdir(exist_ok=True)
            shutil.copyfile(one.path, made / "wheels" / one.path.name)
        for path in made.glob("*.whl"):
            shutil.copyfile(path, made / "wheels" / path.name)


def _parts(arches: Iterable[Arch]) -> list[Wheel]:
    """Each pinned wheel that someone may install, for all Pythons."""
    targets = [Target(minor, arch) for arch in arches for minor in PYTHONS]
    return [one for wheels in all_wheels(targets).values() for one in wheels]


def _size(path: Path) -> int:
    return sum(one.stat().st_size for one in path.rglob("*")) if path.is_dir() else path.stat().st_size


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"what to build: {', '.join(KINDS)} (default: all)")
    parser.add_argument("--arch", dest="arches", action="append", choices=ARCHES, help="machine, repeatable (default: all)")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="directory, which is replaced (default: dist)")
    parser.add_argument("--unclean", action="store_true", help="build the files as they are, uncommitted ones too, and say so in --version")
    chosen = parser.parse_args(arguments)
    if wrong := [one for one in chosen.kinds if one not in KINDS]:
        parser.error(f"found {', '.join(wrong)}, wanted {', '.join(KINDS)}")
    chosen.kinds, chosen.arches = chosen.kinds or [*KINDS], chosen.arches or [*ARCHES]
    return chosen


if __name__ == "__main__":
    main(sys.argv[1:])
