"""The man pages of all commands, as groff formats them, and the completion files: both are what the command line itself says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from hostagent.cli import cli
from hostagent.daemon.unit import unit
from release import manpages
from tests.real.conftest import need_real

HOW = "apt-get install groff-base"
ROOT = Path(__file__).parents[2]
PAGES = list(manpages.walk(cli))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """As a build of packages writes them, by these sources."""
    folder = tmp_path_factory.mktemp("manpages")
    modules = folder / "modules"
    (modules / "daemonset").parent.mkdir()
    for name, source in {"hostagent": "hostagent", "hostagent_checks": "checks/hostagent_checks", "daemonset": "daemonset"}.items():
        (modules / name).symlink_to(ROOT / source)
    argv = [sys.executable, "-I", "-B", ROOT / "release/manpages.py", modules, folder, "0.1.0", "1700000000"]
    subprocess.run([*map(str, argv)], check=True, timeout=60)
    return folder


def formatted(path):
    """As a reader sees it, at a width that breaks no line of an example."""
    argv = [need_real("groff", HOW), "-man", "-ww", "-Tutf8", "-P-cbou", "-rLL=300n", str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout, done.stderr


def squeezed(text):
    return re.sub(r"\s+", " ", text)


def test_every_command_has_a_page_and_nothing_else_has(written):
    assert {path.name for path in (written / "man").iterdir()} == {f"{one.name}.1" for one in PAGES}
    assert {one.path[1] for one in PAGES[1:]} == set(cli.list_commands(click.Context(cli)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_says_what_help_says_and_its_examples_can_be_copied(written, page):
    shown, warnings = formatted(written / f"man/{page.name}.1")
    assert warnings == ""
    assert f"{page.name} - {page.line}" in squeezed(shown)
    records = [one.get_help_record(page.context) for one in page.command.get_params(page.context) if isinstance(one, click.Option)]
    for names, text in filter(None, records):
        assert squeezed(names) in squeezed(shown)
        assert squeezed(text) in squeezed(shown)
    for as_it_is, lines in manpages.paragraphs(page.command.help or ""):
        assert squeezed(" ".join(lines)).strip() in squeezed(shown), as_it_is
    lines = {line.strip() for line in shown.splitlines()}
    assert {line.strip() for line in (page.command.epilog or "").splitlines()[2:]} <= lines


@pytest.mark.parametrize(
    "text", [".so /etc/passwd", "'br", "\\fBbold\\fR \\n(.x", 'a "quoted" word', "-- ~/.x ^ `a` 'b'", "é \u2013 “x”", "...", "\\"]
)
def test_any_text_is_shown_as_it_is(tmp_path, text):
    page = tmp_path / "page.1"
    page.write_text(f'.TH X 1 "{manpages.escaped(text)}" "y" "z"\n.SH NAME\n{manpages.escaped(text)}\n.B {manpages.escaped(text)}\n')
    shown, warnings = formatted(page)
    assert warnings == ""
    assert f" {text} {text} " in squeezed(shown)  # a space more ends a sentence


@pytest.mark.parametrize("shell", manpages.SHELLS)
def test_the_completion_files_are_what_hostagent_itself_prints(written, shell):
    environment = {**os.environ, "_HOSTAGENT_COMPLETE": f"{shell}_source"}
    program = Path(sys.executable).with_name("hostagent")
    printed = subprocess.run([program], env=environment, capture_output=True, text=True, check=True, timeout=60).stdout
    assert (written / f"completion/{shell}").read_text().strip() == printed.strip()


def test_the_unit_is_that_of_the_program_in_usr_bin(written):
    assert (written / "hostagent.service").read_text() == unit("/usr/bin/hostagent")
