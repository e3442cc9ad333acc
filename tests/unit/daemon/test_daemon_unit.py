"""The text of a unit: the shipped one, with the program and options of one copy; and which copies have none."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hostagent.core.errors import HostagentError
from hostagent.daemon import unit
from tests import copies

SHIPPED = (Path(__file__).parents[3] / "daemonset/systemd/hostagent.service").read_text()


def settings(text):
    """All lines but comments."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_only_the_program_and_its_options_differ_from_the_shipped_unit():
    shipped, printed = settings(SHIPPED), settings(unit.unit("/usr/bin/hostagent", ["--listen", ""]))
    differing = [pair for pair in itertools.zip_longest(shipped, printed) if pair[0] != pair[1]]
    assert differing == [
        ("ExecStart=/usr/local/bin/hostagent daemon --kubernetes off", 'ExecStart=/usr/bin/hostagent daemon --listen ""'),
    ]
    assert unit.unit("/usr/bin/hostagent").count("/usr/local/bin/hostagent") == 0, "nor does a comment name another program"
    assert "\nExecStart=/usr/bin/hostagent daemon --kubernetes off\n" in unit.unit("/usr/bin/hostagent")


def test_a_copy_that_unpacks_itself_gets_its_cache_and_options_get_what_they_need():
    more = ["ReadWritePaths=/srv/x", "CapabilityBoundingSet=CAP_NET_BIND_SERVICE"]
    given = {"--nfd-file": "/srv/x/labels", "--textfile": "/srv/x/a.prom", "--listen": "[::1]:443"}
    assert unit.needs(given) == more
    plain, printed = settings(unit.unit("/x")), settings(unit.unit("/x", cache=True, settings=more))
    assert [line for line in printed if line not in plain] == [*more, "CacheDirectory=hostagent", "CacheDirectoryMode=0755"]
    assert printed.index(more[0]) < printed.index("[Install]")


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda: unit.unit("/a\nb"), r"the character '\\n' in '/a\\nb'"),
        (lambda: unit.unit("/a", ["\udcff"]), r"the character '\\udcff' in '\\udcff'"),
        (lambda: unit.unit('/a"b'), 'found " in /a"b'),
        (lambda: unit.unit("/a\\b"), r"found \\ in /a\\b"),
        (lambda: unit.listed("""/a"'"""), "found both kinds of quotes"),
    ],
)
def test_what_a_unit_cannot_have_is_refused(call, found):
    with pytest.raises(HostagentError, match=found):
        call()


@pytest.fixture
def here():
    with copies.place() as where:
        (where / "program").touch(0o755)
        yield where


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user")
def test_a_program_that_others_can_change_has_no_unit(here):
    program = str(here / "program")
    unit.refuse_untrusted(program, [program], ["/etc/x"])
    here.chmod(0o777)
    with pytest.raises(HostagentError, match=f"refused a unit that runs {program} as root: found {here}, which everybody may write"):
        unit.refuse_untrusted(program, [program], [])
    here.chmod(0o755)
    os.chown(program, 1000, -1)
    with pytest.raises(HostagentError, match=f"found {program} of user 1000, wanted root's"):
        unit.refuse_untrusted("/bin/sh", ["/bin/sh", program], [])
    with pytest.raises(HostagentError, match="no such file"):
        unit.refuse_untrusted("/bin/sh", ["/bin/sh", f"{program}-gone"], [])
    os.chmod(program, 0o644)
    with pytest.raises(HostagentError, match=f"found no program at {program} that may be run"):
        unit.refuse_untrusted(program, [program], [])


def test_what_the_unit_does_not_see_is_refused(here, tmp_path):
    (here / "link").symlink_to("/tmp/x")
    for parts, files in ((["/tmp/x"], []), ([str(here / "link")], []), (["/bin/sh"], ["/var/tmp/a.prom"])):
        with pytest.raises(HostagentError, match="wanted a place outside of /tmp and /var/tmp: the unit has its own"):
            unit.refuse_untrusted(parts[0], parts, files)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--once"], "found --print-unit and --once, wanted the options of a daemon that stays"),
        (["--dry-run"], "found --print-unit and --dry-run, wanted the options of a daemon that stays"),
        (["--profile", "-"], "found --print-unit and --profile -, wanted a file: a service has no standard input"),
        (["--profile", "slrum"], "did you mean slurm?"),
        (["--kubernetes", "on"], "found --kubernetes on and no cluster that is written to, wanted --kubeconfig"),
        (["--kubernetes-events", "--kubernetes", "off", "--kubeconfig", "/x"], "found --kubernetes-events and no cluster"),
        (["--interval", "1"], "'--interval': 1.0 is not in the range"),
        (["--tls-cert", "/x"], "found one of --tls-cert and --tls-key, wanted both or none"),
    ],
)
def test_options_that_a_service_cannot_have_are_mistakes_now(options, said):
    argv = [sys.executable, "-m", "hostagent", "daemon", "--print-unit", *options]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
