"""What all remedies have in common, over every recorded host and every case: filled in, in their package, short, and of one mind."""

import ast
import functools
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hostagent.core.tables.recovery_actions import ENDS_JOBS
from hostagent.domains.gpu.tables.xids import CATALOGUE, meaning
from hostagent.engine.catalogue import OURS, load
from hostagent.engine.judgements import _HEADLINE_CHARS
from hostagent.engine.report.grouping import groups, steps
from hostagent.host.recording import ReplayBackend
from hostagent.testing import run_case
from tests.checkcases import CASES, CHECKS
from tests.commands import NOT_LOOKED_AT, PACKAGES, WORDS, programs
from tests.over import over
from tests.recorded import NAMES, report_of, tape_of

ROOT = Path(__file__).parent.parent
_FIRST_STEP_CHARS = 90
#: One style for what cannot be known: ``<branch>``, ``<0 or 1>``.
_PLACEHOLDER = re.compile(r"<[a-z][a-z0-9 ,]*>")
#: A name in capitals that stands for something: KERNEL, NAME…, and our own braces.
_OTHER_STYLE = re.compile(r"\b(KERNEL|NAME|VERSION|BRANCH|PACKAGE|MINOR|UUID_OF|DEVICE)\b…?|\{[a-z_]+\}")
_QUOTED = re.compile(r"'([a-z][\w.-]*(?: [^']+)?)'")


#: What stands in a command without quotes: numbers, and texts of ours.
_OURS = {"watts", "number", "lines", "path", "_command", "minor"}
_SOURCES = [path for folder in ("checks/hostagent_checks", "hostagent/domains") for path in (ROOT / folder).rglob("*.py")]


def _findings():
    """(where, judgement) of all that failed or warned."""
    for name in NAMES:
        yield from ((f"host {name}", one) for one in report_of(name).findings if one.outcome in ("fail", "warn"))
    for case in CASES:
        yield from ((case.path.partition("cases/")[2], one) for one in run_case(case, CHECKS) if one.outcome in ("fail", "warn"))


@functools.cache
def found():
    """Where the first test asks for it: whoever does not run these tests need not judge every host."""
    return tuple(_findings())


def _texts(one):
    """Each text of a finding that is ours: not what was found."""
    yield from (one.headline, *(text for step in one.remedy for text in (step.text, step.command)))


#: What no fact says: the reader's own choice.
CHOICES = {("host.hostname", "<name>"), ("runtime.present", "<containerd, docker or crio>")}


def test_no_report_has_a_placeholder_that_could_be_filled():
    left = {(one.id, match[0]) for _, one in found() for text in _texts(one) for match in _PLACEHOLDER.finditer(text)}
    assert left <= CHOICES


def test_a_page_has_one_style_of_placeholder():
    """A page is of no host: what only a host knows stands in angle brackets."""
    texts = [
        (one.id, text) for one in CHECKS.values() for step in one.remedy for text in (step.text, step.command.replace("{subject}", ""))
    ]
    assert [(check, text) for check, text in texts if _OTHER_STYLE.search(text)] == []


def test_the_style_is_seen_when_it_is_broken():
    assert _OTHER_STYLE.search("dkms autoinstall -k KERNEL")
    assert _OTHER_STYLE.search("install {package}")
    assert _PLACEHOLDER.search("dkms autoinstall -k <kernel>")


def test_headlines_fit_their_line():
    """A GPU's longest name is "GPU 15 (0000:9d:00.0)"; what is cut ends in an ellipsis."""
    assert {(one.id, one.headline) for _, one in found() if one.headline.endswith("…")} == set()
    longest = max((meaning(code) for code in CATALOGUE if meaning(code).kind == "critical"), key=lambda one: len(one.meaning))
    assert len(f"GPU 15 (0000:9d:00.0) logged Xid {longest.code}: {longest.meaning}") <= _HEADLINE_CHARS


def test_headlines_are_the_same_from_run_to_run():
    """No clock time, no count of errors or times, no line of a log."""
    times = re.compile(r"\b\d+ (times|errors|bytes)\b|\d:\d\d after|pid \d")
    assert {(one.id, one.headline) for _, one in found() if times.search(one.headline)} == set()


def test_a_first_step_is_short():
    """It stands in the verdict line and in a drain reason, after the headline."""
    long = {(one.id, one.remedy[0].text) for _, one in found() if one.remedy and len(one.remedy[0].text) > _FIRST_STEP_CHARS}
    assert {(check, text) for check, text in long if not _is_long_by_a_name(text)} == set()


def _is_long_by_a_name(text):
    """A path or a list of packages of the host, without which the step fits."""
    return len(re.sub(r"\S{16,}", "", text)) <= _FIRST_STEP_CHARS - 10


def test_a_remedy_has_steps_and_says_what_each_does():
    assert {one.id for _, one in found() if not one.remedy or any(not step.text.endswith(".") for step in one.remedy)} == set()


# commands


def commands():
    return sorted({step.command for _, one in found() for step in one.remedy if step.command})


def test_every_program_of_a_command_is_known_with_its_package():
    assert {program for command in commands() for program in programs(command)} - set(PACKAGES) == set()


def _unquoted(text):
    """(line, name) of each text of the host that a module puts into a command as it is."""
    for call in ast.walk(ast.parse(text)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("Step", "shell"):
            words = (
                call.args[:1]
                if call.func.id == "shell"
                else [*call.args[2:3], *(one.value for one in call.keywords if one.arg == "command")]
            )
            for part in (
                part for word in words if isinstance(word, ast.JoinedStr) for part in word.values if isinstance(part, ast.FormattedValue)
            ):
                names = {name.id for name in ast.walk(part.value) if isinstance(name, ast.Name)}
                if not all(name.isupper() or name in _OURS for name in names):
                    yield part.lineno, ast.unparse(part.value)


@over("path", _SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_shell_takes_each_text_of_the_host_for_one_word(path):
    """Who copies a command from a report runs no name of a file, a unit or a package."""
    assert list(_unquoted(path.read_text(encoding="utf-8"))) == []


def test_a_text_without_quotes_is_seen():
    assert list(_unquoted('Step("configure", f"Look at {a}.", f"rm {a.path}")')) == [(1, "a.path")]
    assert list(_unquoted('Step("configure", "Look.", command=shell(f"rm {a} {{}}", b))')) == [(1, "a")]
    assert list(_unquoted('Step("configure", "Look.", shell("rm {}", a.path))')) == []


def test_the_table_of_programs_names_no_program_that_nothing_says():
    pages = {step.command for one in CHECKS.values() for step in one.remedy if step.command}
    quoted = {words for _, one in found() for step in one.remedy for words in _QUOTED.findall(step.text)}
    said = {program for command in (*commands(), *pages, *quoted) for program in programs(command)}
    assert set(PACKAGES) - said - NOT_LOOKED_AT == set()


def test_a_program_that_is_here_knows_the_words_of_each_command():
    """Its own help or manual has each option and each verb that a command uses; one without either is not judged."""
    used = {(program, word) for one in commands() for program in programs(one) for word in WORDS.get(program, lambda _: ())(one)}
    here = {program for program, _ in used if shutil.which(program) and _help_of(program)}
    assert len(here) > 3, "the programs of the base system at least"
    assert [(program, word) for program, word in sorted(used) if program in here and word not in _help_of(program)] == []


@functools.cache
def _help_of(program):
    """Its help and its manual, in one text; "" where neither is here."""
    said = []
    for argv in ([program, "--help"], ["man", program]):
        if shutil.which(argv[0]):
            ran = subprocess.run(
                argv, capture_output=True, text=True, timeout=30, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}, check=False
            )
            said.append(ran.stdout + ran.stderr)
    return "".join(re.sub(".\b", "", text) for text in said)


# of one mind


@pytest.mark.parametrize("name", NAMES)
def test_nobody_is_told_to_reboot_into_a_kernel_without_a_module(name):
    """Where the next kernel has none, giving it one comes before any reboot."""
    report = report_of(name)
    lacking = [one for one in report.findings if one.id == "kernel.next_has_module" and one.outcome == "fail"]
    todo = steps(report)
    reboots = [place for place, step in enumerate(todo) if step.action in ("reboot", "power_cycle") and not step.if_back]
    if lacking and reboots:
        assert any(step.action in ("install", "contact_owner") and "kernel" in step.text for step in todo[: reboots[0]])


@pytest.mark.parametrize("name", NAMES)
def test_no_two_remedies_of_a_report_contradict_each_other(name):
    """Nothing is held that is held or released, installed and removed, or upgraded while it only waits for a reboot."""
    report = report_of(name)
    todo = steps(report)
    named = {verb: _names(todo, verb) for verb in ("hold", "unhold", "install", "remove")}
    assert named["hold"] & named["unhold"] == set()
    assert named["install"] & named["remove"] == set()
    assert named["hold"] & _held(name) == set()
    waits = any(one.code == "reboot-pending" for group in groups(report) for one in (told.finding for told in group.members))
    if waits:
        assert [step.text for step in todo if step.action == "install" and "river" in step.text] == []


_VERBS = {
    "hold": r"(?:apt-mark hold|dnf versionlock add|zypper addlock) ",
    "unhold": r"(?:apt-mark unhold|dnf versionlock delete|zypper removelock) ",
    "install": r"(?:apt-get|dnf|zypper|tdnf) (?:re)?install (?:--\w+ )?",
    "remove": r"(?:apt-get purge|dnf remove|zypper remove|tdnf remove) ",
}


def _names(todo, verb):
    found = (re.match(_VERBS[verb], step.command) for step in todo)
    return {name.partition("=")[0] for match in found if match for name in match.string[match.end() :].split()}


@functools.cache
def _held(name):
    from hostagent.core.unread import Unread
    from hostagent.engine.collect import collect
    from hostagent.facts.packages import Packages
    from hostagent.host.source import Source

    packages = collect(Source(ReplayBackend(tape_of(name))), ["Packages"])[0].of(Packages)
    installed = () if isinstance(packages, Unread) or isinstance(packages.installed, Unread) else packages.installed
    return {one.name for one in installed if one.held}


@pytest.mark.parametrize("name", NAMES)
def test_a_virtual_machine_s_board_is_left_alone(name):
    """Nobody reseats or resets what somebody else's machine has."""
    from hostagent.core.unread import Unread
    from hostagent.engine.collect import collect
    from hostagent.facts.platform import Platform
    from hostagent.host.source import Source

    platform = collect(Source(ReplayBackend(tape_of(name))), ["Platform"])[0].of(Platform)
    if isinstance(platform, Unread) or isinstance(platform.virtual, Unread) or not platform.virtual:
        return
    texts = [f"{step.text} {step.command}" for one in report_of(name).findings for step in one.remedy]
    assert [text for text in texts if re.search(r"chassis|reseat|--gpu-reset|baseboard", text) and "machine below" not in text] == []


def test_a_step_that_ends_jobs_is_never_one_for_information():
    """What counts in no verdict drains no node; advisories are for a maintenance of one's own choice."""
    assert {
        (one.id, step.text)
        for _, one in found()
        if one.severity == "info" and one.axis == "fitness"
        for step in one.remedy
        if step.action in ENDS_JOBS - {"reset_gpu", "reboot"}
    } == set()


def test_the_catalogue_is_what_is_looked_at():
    """All checks but those that only ever end unknown have a finding here."""
    assert {one.id for one in load([OURS])} - {one.id for _, one in found()} <= {"os.platform"}
