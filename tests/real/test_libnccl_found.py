"""Real: NCCL's libraries where jobs find them, and the loader's own word on what a plug-in lacks.

Nothing of a library is run: the judges are ldd(1) with glibc's loader, for plug-ins that gcc makes, and the versions of the files.
"""

import os
import random
import re
import shutil
import subprocess

from hostagent.domains.nccl.read_libraries import read_candidates, read_libraries, read_plugins
from hostagent.engine.questions import live_backend
from hostagent.host.source import Source
from tests.real.conftest import need_real
from tests.real.nccl import LIBRARIES, library
from tests.trees.formats import linker_cache

CASES, SEED = 40, 12
JOB = ("environment",)
_PLACES = (
    "/usr/lib/x86_64-linux-gnu/libnccl.so.{}",
    "/usr/local/lib/libnccl.so.{}",
    "/usr/local/cuda-12.9/lib64/libnccl.so.{}",
    "/opt/amazon/ofi-nccl/lib/libnccl.so.{}",
    "/usr/local/nccl-{}/lib/libnccl.so.2",
    "/opt/conda/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2",
    "/opt/job/lib/libnccl.so.2",
)


def _put(version, place):
    """A second name for the file, or where that is not possible a copy with the same holes."""
    place.parent.mkdir(parents=True)
    try:
        os.link(library(version), place)
    except OSError:
        subprocess.run(["cp", "--sparse=always", library(version), place], check=True)


def test_each_real_library_is_found_and_says_its_version(tmp_path):
    wanted = {template.format(version): version for template, version in zip(_PLACES, LIBRARIES, strict=True)}
    for path, version in wanted.items():
        _put(version, tmp_path / path[1:])
    (tmp_path / "opt/conda/bin").mkdir()
    (tmp_path / "opt/conda/bin/python3").touch()
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/ld.so.cache").write_bytes(linker_cache(()))
    job = {"variables": {"LD_LIBRARY_PATH": "/opt/job/lib"}, "home": None, "people": []}
    source = Source(live_backend(str(tmp_path), "image"), cached={JOB: job})
    found = read_libraries(source, read_candidates(source))
    assert {one.path: one.version for one in found} == wanted
    assert [one.place for one in found] == ["LD_LIBRARY_PATH", "linker", *["directory"] * 4, "python"]
    assert all(re.fullmatch(r"1[0-9]\.[0-9]", one.cuda) for one in found)


def _library(path, *options, needs=()):
    path.parent.mkdir(parents=True, exist_ok=True)
    argv = ["gcc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", path, f"-Wl,-soname,{path.name}", "-Wl,--no-as-needed", *options]
    subprocess.run([*argv, "-x", "none", *needs], check=True)


def _case(root, chance):
    """A plug-in that needs three libraries, each in one of the places where the loader may look, or in none."""
    plugin = root / "own/libnccl-net.so"
    places = {
        "search": root / "search",
        "run": root / "run",
        "origin": root / "own/deps",
        "beside": root / "own",
        "nowhere": root / "nowhere",
    }
    built = []
    for name in ("liba-own.so.1", "libb-own.so.2", "libc-own.so.3"):
        path = places[chance.choice(sorted(places))] / name
        _library(path)
        built.append(path)
    runpath = [text for text in (str(root / "run"), "$ORIGIN/deps", "${ORIGIN}", str(root / "empty")) if chance.random() < 0.5]
    tags = chance.choice(["-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"])
    _library(plugin, "-lm", *([f"-Wl,-rpath,{':'.join(runpath)}", tags] if runpath else []), needs=built)
    search = [str(root / "search")] if chance.random() < 0.6 else []
    return plugin, ":".join(["", *search, str(root / "none")] if chance.random() < 0.5 else search)


def test_the_loader_misses_what_we_say_is_missing(tmp_path):
    for name in ("gcc", "ldd"):
        if not shutil.which(name):
            need_real(name, f"apt-get install {name}")
    chance, seen = random.Random(SEED), set()
    for number in range(CASES):
        plugin, search = _case(tmp_path / str(number), chance)
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "LD_LIBRARY_PATH": search}
        said = subprocess.run(["ldd", plugin], env=environment, capture_output=True, text=True, check=True, cwd="/").stdout
        theirs = tuple(sorted(re.findall(r"^\s*(\S+) => not found$", said, re.MULTILINE)))
        job = {"variables": {"LD_LIBRARY_PATH": search, "NCCL_NET_PLUGIN": str(plugin)}, "home": None, "people": []}
        source = Source(live_backend("/"), cached={JOB: job})
        found = read_candidates(source)
        (ours,) = (one for one in read_plugins(source, found, read_libraries(source, found)) if one.path == str(plugin))
        assert ours.missing == theirs, (number, said)
        seen.add(len(theirs))
    assert len(seen) == 4
