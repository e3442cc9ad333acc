"""A tape keeps what readers use, and says what it kept: filtered and raw give one report, and another name is not-recorded, never absent."""

import ast
import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hostagent import snapshot
from hostagent.core.retention import WHOLE, Filtered, Keep, merged
from hostagent.core.unread import Unread
from hostagent.domains.driver.read_ld_cache import parse_ldcache
from hostagent.domains.packages.openpgp import parse_key_ids
from hostagent.domains.packages.read_apt import parse_sources_deb822, parse_sources_list
from hostagent.domains.packages.read_apt_conf import parse_apt_conf
from hostagent.domains.packages.read_dpkg import parse_status
from hostagent.domains.packages.read_version_locks import parse_preferences, parse_versionlock, parse_zypp_locks
from hostagent.domains.runtime.read_containerd import effective
from hostagent.domains.system.read_boot_menu import ENTRY, ENVIRONMENT, parse_entry, parse_grubenv
from hostagent.domains.system.read_modprobe import blacklists_nouveau, parse_options
from hostagent.domains.system.unit_file import parse_unit
from hostagent.engine.collect import ALL_READERS, collect
from hostagent.engine.collection import InProcess
from hostagent.host import recording
from hostagent.host.recording import ReplayBackend
from hostagent.host.source import Source
from hostagent.snapshot.keeping import KINDS, filtered, kept
from hostagent.testing import TreeBackend, host
from tests import recorded
from tests.judged import judged
from tests.over import over
from tests.trees.formats import linker_cache, public_key

DOMAINS = Path(__file__).parent.parent / "hostagent/domains"
CORPUS = Path(__file__).parent / "real" / "containerd_corpus"
#: Questions whose answers hold more than this program's own words and numbers.
ASKED = {"read", "tail", "run", "text", "modinfo", "os_release", "processes", "sockets", "kernel_log", "kernel_words"}


def mask(text):
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def source_of(answers, kind="live"):
    return Source(ReplayBackend(recording.Tape(1, "test", 0.0, kind, False, answers)))


# What is said.


@over("name", recorded.NAMES)
def test_readers_say_what_they_use_of_every_answer(name):
    source = Source(ReplayBackend(recorded.tape_of(name)))
    collect(source, ALL_READERS)
    asked = {question for question in source._answers if question[0] in ASKED}
    said = {question: merged(source.keeps.get(question, ())) for question in asked}
    assert {question: keep for question, keep in said.items() if keep is None or (keep != WHOLE and keep.kind not in KINDS)} == {}


def questions(tree):
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ASKED
            and "source" in ast.unparse(node.func.value)
        ):
            yield node


@over("path", sorted(DOMAINS.glob("*/read_*.py")), ids=lambda path: str(path.relative_to(DOMAINS)))
def test_no_reader_asks_without_saying_what_it_uses(path):
    calls = questions(ast.parse(path.read_text()))
    assert [ast.unparse(call) for call in calls if "keep" not in {keyword.arg for keyword in call.keywords}] == []


def test_what_nobody_claims_is_left_out():
    answers = {("read", "/etc/shadow"): b"root:x", ("list", "/etc"): ["shadow"], ("read", "/proc/stat"): b"btime 7\ncpu 1\n"}
    found = kept(answers, "live", mask)
    assert set(found) == {("list", "/etc"), ("read", "/proc/stat")}
    assert found["read", "/proc/stat"].answer == b"btime 7\n"


def test_what_two_readers_take_for_two_things_is_left_out():
    assert merged([Keep("settings", ("a",)), Keep("unit", ("a",))]) is None
    assert merged([Keep("settings", ("a",)), WHOLE]) == WHOLE


# What is kept gives the same report.


@recorded.each_host
def test_filtered_and_raw_give_one_report(name):
    left = snapshot.record(InProcess(ReplayBackend(recorded.tape_of(name))), b"k" * 32, redact=False)
    before, after = recorded.report_of(name), judged(ReplayBackend(left), recorded.profile_of(name))
    assert before.findings == after.findings
    assert before.verdict == after.verdict
    assert sum("kept" in answer for answer in left.answers.values()) > 9


def test_a_filtered_tape_is_filtered_again_to_itself(tmp_path):
    once = snapshot.record(InProcess(ReplayBackend(recorded.tape_of(recorded.NAMES[0]))), b"k" * 32, redact=False)
    (tmp_path / "tape.json").write_text(recording.dumps(once))
    again = snapshot.record(InProcess(ReplayBackend(recording.load(str(tmp_path)))), b"k" * 32, redact=False)
    assert again.answers == once.answers


# Another name.

STREAM = {"read /x": {"text": "stream=1\n", "kept": ["settings", "state", "stream"]}}


@pytest.mark.parametrize("names", [("stream",), ("state",), ("stream", "state"), ()])
def test_a_name_that_was_kept_is_answered_present_or_not(names):
    assert source_of(STREAM).text("/x", keep=Keep("settings", names)) == "stream=1\n"


@pytest.mark.parametrize("keep", [Keep("settings", ("stream", "profile")), Keep("unit", ("stream",)), WHOLE, None])
def test_another_name_is_not_recorded(keep):
    answer = source_of(STREAM).text("/x", keep=keep, absent="nothing")
    assert isinstance(answer, Unread)
    assert (answer.why, answer.question) == ("not-recorded", "read /x")


def test_readers_are_told_apart_by_what_each_wants():
    source = source_of(STREAM)
    assert source.text("/x", keep=Keep("settings", ("profile",))).why == "not-recorded"
    assert source.text("/x", keep=Keep("settings", ("stream",))) == "stream=1\n"


def test_an_old_raw_answer_is_valid_for_everybody():
    for keep in (None, WHOLE, Keep("settings", ("a",))):
        assert source_of({"read /x": {"text": "a=1\n"}}).text("/x", keep=keep) == "a=1\n"


@pytest.mark.parametrize("kept", [3, [], [3], ["settings", 3], {"a": 1}, [["settings"]]])
def test_a_list_of_names_that_is_none_is_an_error(kept):
    assert source_of({"read /x": {"text": "a", "kept": kept}}).read("/x", keep=WHOLE).why == "error"


def test_every_kind_of_answer_may_be_a_part(tmp_path):
    made = snapshot.record(
        InProcess(TreeBackend({"kernel_log": {"lines": [[1.0, "NVRM: x"], "NVRM: y", "z"], "complete": True}})), b"k" * 32
    )
    assert made.answers["kernel_log"]["json"]["lines"] == [[1.0, "NVRM: x"], "NVRM: y"]
    lost = {**made.answers, "kernel_log": {**made.answers["kernel_log"], "kept": ["messages", "other"]}}
    assert source_of(lost).kernel_log(keep=Keep("messages", ("NVRM",))).why == "not-recorded"


# Each kind: what a reader makes of the part is what it makes of the whole.


def part(kind, names, data):
    found = filtered(("read", "/x"), data, Keep(kind, tuple(names)), mask)
    return found.answer if isinstance(found, Filtered) else found


PIECES = st.sampled_from(
    [
        *(
            "[Unit]\n",
            "[Service]\n",
            "[Install]\n",
            "After=a b\n",
            "After=\n",
            "After = c \\\n",
            "  d\n",
            "Slice=x.slice\n",
            "Environment=A=b \\\n",
            "LimitMEMLOCK=1\n",
            "# c\n",
            "; d \\\n",
        ),
        *("WantedBy=x\n", "\n", " ", "\\\n", "=", "a", "[", "]", "After", "\r\n", "Unit.After=x\n", "#", "\tBefore=y\n"),
    ]
)


@given(st.lists(PIECES, max_size=14).map("".join))
@example("[Unit]\nEnvironment=x \\\n# c\nAfter=a\nAfter=b \\\n; c\n d")
def test_a_unit(text):
    names = ("Unit.After", "Unit.Before", "Service.Slice", "Install.WantedBy")
    whole, left = parse_unit(text), parse_unit(part("unit", names, text.encode()).decode())
    assert all(whole.values(*name.split(".")) == left.values(*name.split(".")) for name in names)


APT = st.sampled_from(
    [
        "A::B",
        "{",
        "}",
        ";",
        '"x y"',
        " ",
        "\n",
        "A",
        "B",
        "::",
        "#clear",
        "C::B::",
        "// x\n",
        "/* y */",
        '"1"',
        "A::B::",
        "a::b",
        "#c\n",
        "Acquire",
    ]
)


@given(st.lists(APT, max_size=16).map("".join))
@example('A { B { "x"; }; }; #clear A::B; A::B:: "y";')
def test_apt_conf(text):
    names = ("a::b", "a")
    whole, left = parse_apt_conf(text), parse_apt_conf(part("apt.conf", names, text.encode()).decode())
    assert {key: value for key, value in whole.items() if key in names} == left


MODPROBE = st.sampled_from(
    [
        "options nvidia ",
        "options nvidia",
        "NVreg_A=1",
        " ",
        "\n",
        "\\\n",
        "blacklist nouveau",
        "# ",
        "alias nouveau off",
        "install nouveau /bin/false",
        "options corp x=nvidia",
        "\t",
        "x",
    ]
)


@given(st.lists(MODPROBE, max_size=14).map("".join))
@example("options nvidia\\\noptions nvidia ")
@example("\\\noptions \\\n nvidia NVreg_A=1\n")
def test_modprobe(text):
    left = part(*used_of({"/etc/modprobe.d/a.conf": text})["read", "/etc/modprobe.d/a.conf"], text.encode()).decode()
    assert blacklists_nouveau(left) == blacklists_nouveau(text)
    assert parse_options(left, "nvidia") == parse_options(text, "nvidia")


def used_of(files):
    source = host({"/proc/cmdline": "", **files})
    collect(source, ["Kernel"])
    return {question: merged(keeps) for question, keeps in source.keeps.items()}


GRUB = st.sampled_from(
    [
        "saved_entry=a-1",
        "next_entry=",
        "next_entry=b",
        "#",
        "\n",
        " ",
        "=",
        "x=1",
        "version 5.1",
        "linux /vmlinuz-6",
        "linux\t",
        "options root=x",
        "title y",
    ]
)


@given(st.lists(GRUB, max_size=12).map("".join))
def test_boot_loaders(text):
    assert parse_grubenv(part("settings", ENVIRONMENT.names, text.encode()).decode()) == parse_grubenv(text)
    assert parse_entry(part("settings", ENTRY.names, text.encode()).decode()) == parse_entry(text)


PACKAGES = st.sampled_from(
    [
        *(
            "Package: nvidia-a\n",
            "Package: bash\n",
            "Status: install ok installed\n",
            "Version: 1\n",
            " Version: 2\n",
            "Maintainer: x\n",
            "\n",
            "\n\n",
            "Description: y\n z\n",
            "Architecture: a\n",
        ),
        *(
            "Pin: version 1*\n",
            "Pin-Priority: 1001\n",
            "# c\n",
            "Explanation: e\n",
            "solvable_name: nvidia\n",
            "version: 2\n",
            " \n",
            "nvidia-a-1:2-3\n",
            "!x\n",
            "[v]\n",
        ),
    ]
)


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except ValueError as error:
        return str(error)


@given(st.lists(PACKAGES, max_size=14).map("".join))
def test_package_databases_and_pins(text):
    data = text.encode()
    fields = ("Package", "Status", "Architecture", "Version", "Source", "Maintainer")
    assert outcome(parse_status, part("dpkg", (*fields, "nvidia*"), data).decode()) == outcome(
        parse_status, "\n\n".join(one for one in text.split("\n\n") if one.lstrip("\n").startswith("Package: nvidia"))
    )
    assert parse_preferences(part("stanzas", ("package", "pin", "pin-priority"), data).decode(), "") == parse_preferences(text, "")
    assert parse_zypp_locks(part("settings", ("solvable_name", "version"), data).decode(), "") == parse_zypp_locks(text, "")
    assert parse_versionlock(part("matches", (r"^[ \t]*[^\s#!;\[][^\n]*",), data).decode(), "") == parse_versionlock(text, "")


SOURCES = st.sampled_from(
    [
        *(
            "deb ",
            "deb-src ",
            "# ",
            "[signed-by=/k trusted=yes] ",
            "[arch=amd64] ",
            "http://u:p@h/nvidia ",
            "http://h/cuda/repos/x/ ",
            "http://h/other ",
            "/ ",
            "main\n",
            "\n",
            "noble ",
        ),
        *(
            "Types: deb\n",
            "URIs: http://h/nvidia https://u@g/nvidia/\n",
            "Suites: a b\n",
            "Signed-By: /k\n",
            "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n x\n",
            "Enabled: no\n",
            "Trusted: yes\n",
        ),
    ]
)


@given(st.lists(SOURCES, max_size=14).map("".join))
def test_sources_of_packages(text):
    assert parse_sources_list(part("sources.list", (), text.encode()).decode(), "f") == parse_sources_list(text, "f")
    assert parse_sources_deb822(part("sources.deb822", (), text.encode()).decode(), "f") == parse_sources_deb822(text, "f")


def test_a_keyring_and_the_linkers_cache():
    ring = public_key("a") + public_key("b")
    assert parse_key_ids(part("keyring", (), ring)) == parse_key_ids(ring)
    cache = linker_cache(
        (("libcuda.so.1", "/usr/lib/libcuda.so.1"), ("libx.so.1", "/home/jane/libx.so.1"), ("libcuda.so.1", "/opt/libcuda.so.1"))
    )
    left = part("ld.so.cache", ("libcuda.so.1",), cache)
    assert parse_ldcache(left, ("libcuda.so.1",)) == parse_ldcache(cache, ("libcuda.so.1",))
    assert b"jane" not in left
    beginning = ("libcu*",)
    assert parse_ldcache(part("ld.so.cache", beginning, cache), beginning) == parse_ldcache(cache, ("libcuda.so.1",))
    for broken in (b"", b"glibc-ld.so.cache1.1", cache[:60]):
        assert part("ld.so.cache", ("libcuda.so.1",), broken).why == "error"
    assert part("keyring", (), b"password: x").why == "error"


@pytest.mark.parametrize("version", ["1.6.20", "1.7.24", "2.1.4"])
@pytest.mark.parametrize("name", sorted(path.stem if path.suffix else path.name for path in CORPUS.iterdir()))
def test_containerd(name, version):
    """Every configuration that the real daemons are compared on, whole and in part."""
    files = corpus(name)
    source = host(files)
    whole = effective(source, "/c/config.toml", version)
    answers = {question: answer for question, answer in source._answers.items() if isinstance(answer, bytes)}
    left = {path: part(*merged(source.keeps[question]), answer) for question, answer in answers.items() for path in [question[1]]}
    assert told(effective(host({**files, **left}), "/c/config.toml", version)) == told(whole)


def corpus(name):
    path = CORPUS / name
    if not path.is_dir():
        return {"/c/config.toml": path.with_suffix(".toml").read_bytes()}
    found = [one for one in path.rglob("*") if one.is_symlink() or one.is_file()]
    return {f"/c/{one.relative_to(path)}": ("link", os.readlink(one)) if one.is_symlink() else one.read_bytes() for one in found}


def told(view):
    """What a runtime is made of: handlers have other keys, whose values nobody reads."""
    if isinstance(view, Unread):
        return view.why
    handlers = {
        name: (one.get("runtime_type"), one.get("runtime_path"), dict(one.get("options", {})).get("BinaryName"))
        for name, one in view.handlers.items()
    }
    return view._replace(handlers=handlers)


def test_a_run_keeps_its_errors_and_that_it_said_something():
    answer = {"exit_code": 1, "stdout": "bash\t1\n", "stderr": "warning: x\nerror: rpmdb: BAD\n" + "y" * 5000}
    left = filtered(("run", "rpm"), answer, Keep("beginnings", ("nvidia",)), mask).answer
    assert (left["exit_code"], left["stdout"]) == (1, "-\n")
    assert "error: rpmdb: BAD" in left["stderr"].splitlines()
    assert len(left["stderr"]) < 700
    assert filtered(("run", "rpm"), {**answer, "stdout": "\n"}, Keep("beginnings", ("nvidia",)), mask).answer["stdout"] == ""


@pytest.mark.parametrize(
    "answer", [None, 3, "x", [], [[]], [3], {}, {"lines": [[], 3]}, {"lines": 3}, {"stdout": 3}, b"\xff\0[", [{"path": 3, "argv": 3}]]
)
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_of_another_shape_is_an_error_or_a_part_never_a_crash(kind, answer):
    for asked in (("read", "/x"), ("run", "rpm")):
        assert isinstance(filtered(asked, answer, Keep(kind, ("1",)), mask), Filtered | Unread)
