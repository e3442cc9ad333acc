"""Small files of an image, and of a tape, that would take much: they cost what reads them, in little time and little memory.

What one file may not do, many may not: each row has a piece that is repeated, in how many files, and the fact that it costs.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.test_bombs import image

MIB = 1024 * 1024
#: Says what an image or a tape is like, what that took at most, and how many seconds of a processor.
JUDGE = """
import json, os, resource, sys
from hostagent.cli.run import run
code = run(["check", sys.argv[1], sys.argv[2], "--format", "json", "--deadline", "25"])
own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
# Its own ru_maxrss counts what started it, too, before it became this program.
size = int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
seconds = sum(one.ru_utime + one.ru_stime for one in (own, children))
print(json.dumps([max(size, children.ru_maxrss) // 1024, seconds]), file=sys.stderr)
"""
SOURCES, CONF, PINS = "etc/apt/sources.list.d/{}.list", "etc/apt/apt.conf.d/{}", "etc/apt/preferences.d/{}"
MODPROBE, GRUB, DROP_IN = "etc/modprobe.d/{}.conf", "etc/default/grub.d/{}.cfg", "etc/systemd/system/containerd.service.d/{}.conf"
BLACKLIST = "Unattended-Upgrade::Package-Blacklist"


def whole(start, unit, end=""):
    """A file of a megabyte."""
    return start + unit * ((MIB - len(start) - len(end)) // len(unit)) + end


#: Path, text, number of files.
FLOODS = {
    "lines of sources": (SOURCES, whole("", "deb x:nvidia /\n"), 4),
    "stanzas of sources": ("etc/apt/sources.list.d/{}.sources", whole("", "URIs: nvidia nvidia/b\nSuites: a b\n\n"), 2),
    "few sources in each of many files": (SOURCES, "deb x:nvidia /\n" * 400, 40),
    "settings": (CONF, "".join(f"{number:x} 1;" for number in range(120_000)), 2),
    "what clears nothing": (CONF, whole("", "#clear q;"), 2),
    "items of a list": (CONF, whole(BLACKLIST + "{", '"a";', "}"), 4),
    "few items in each of many files": (CONF, f'{BLACKLIST}:: "a";' * 100, 300),
    "packages of a pin": (PINS, whole("Package: ", "a ", "\nPin: version 1\nPin-Priority: 1001\n"), 4),
    "pins": (PINS, whole("", "Package: a\nPin: version 1\nPin-Priority: 1001\n\n"), 2),
    "few pins in each of many files": (PINS, "Package: a b c\nPin: version 1\nPin-Priority: 1001\n\n" * 50, 60),
    "words of options": (MODPROBE, whole("options nvidia ", "a "), 8),
    "tabs": (GRUB, whole("", "\t"), 8),
    "CDI specifications": ("etc/cdi/{}.yaml", "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n" + "- name: a\n" * 8000, 100),
    "drop-ins": (DROP_IN, "[Service]\nLimitMEMLOCK=1\n" + "A=\\\n" * 5000, 300),
}  # fmt: skip


@pytest.fixture(params=FLOODS)
def flooded(request, tmp_path):
    path, text, count = FLOODS[request.param]
    root = image(
        tmp_path / "root",
        **{
            "etc/hostname": (b"n1\n", 0),
            "var/lib/dpkg/status": (b"Package: unattended-upgrades\nStatus: install ok installed\nVersion: 1\n\n", 0),
        },
    )
    for number in range(count):
        place = root / path.format(number)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return root


def judged(*where):
    """The report, MiB of the largest process, seconds of a processor."""
    done = subprocess.run([sys.executable, "-c", JUDGE, *map(str, where)], capture_output=True, text=True, timeout=60, check=False)
    mib, seconds = json.loads(done.stderr.splitlines()[-1])
    return json.loads(done.stdout), mib, seconds


def late(report):
    return [one["id"] for one in report["findings"] if one["outcome"] == "unknown" and "timeout" in one["message"]]


def test_a_flooded_image_is_judged_in_little(flooded):
    report, mib, seconds = judged("--root", flooded)
    assert late(report) == []
    assert report["host"]["hostname"] == "n1"
    assert mib < 160
    assert seconds < 6


TAPED = {
    "clears": ("read /etc/apt/apt.conf", "#clear q;"),
    "pins": ("read /etc/apt/preferences", "Package: a\nPin: version 1\nPin-Priority: 1001\n\n"),
    "units": ("read /usr/lib/systemd/system/containerd.service", "[Unit]\nAfter=a\n"),
}
HOST = Path(__file__).parent.parent / "hosts" / "hgx-h100-ubuntu2404"


@pytest.mark.parametrize("kind", TAPED)
def test_a_tape_has_no_larger_files_than_a_host(tmp_path, kind):
    asked, unit = TAPED[kind]
    recorded = json.loads((HOST / "tape.json").read_text())
    assert asked in recorded["answers"] or kind == "pins"
    recorded["answers"][asked] = {"text": unit * (12 * MIB // len(unit))}
    (tmp_path / "tape.json").write_text(json.dumps(recorded))
    report, mib, seconds = judged("--from", tmp_path)
    assert late(report) == []
    assert (mib < 256, seconds < 5) == (True, True)
    assert sum(one["outcome"] == "unknown" for one in report["findings"]) < 40


def test_thousands_of_names_of_one_long_link_cost_the_units(tmp_path):
    root = image(tmp_path / "root", **{"etc/hostname": (b"n1\n", 0)})
    place = root / "etc/systemd/system"
    place.mkdir(parents=True)
    os.symlink("a" * 4090, place / "0.service")
    for number in range(1, 6_000):
        os.link(place / "0.service", place / f"{number}.service", follow_symlinks=False)
    report, mib, seconds = judged("--root", root)
    assert late(report) == []
    assert (mib < 160, seconds < 6) == (True, True)
