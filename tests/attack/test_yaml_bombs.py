"""Small YAML that stands for more than any machine holds, fed to everyone who reads YAML of others: refused, in little time and memory."""

import contextlib
import os
import resource
import signal
import time
from pathlib import Path

import click
import pytest
import yaml

from hostagent.cli import pods
from hostagent.core.errors import HostagentError
from hostagent.core.unread import UnreadError
from hostagent.core.yamlfile import _RUN, YamlError, parse_foreign_yaml, parse_yaml, refuse_depth
from hostagent.domains.kubelet import read_distributions
from hostagent.domains.kubelet import read_runtimes as runtime
from hostagent.domains.kubelet.config.documents import parse_document
from hostagent.domains.kubelet.config.goyaml import parse_go_yaml
from hostagent.domains.runtime.cdi_spec import CdiError, parse_spec
from hostagent.domains.system.read_cloud_init import parse_drivers
from hostagent.kube.config import kubeconfig
from hostagent.profiles import profile
from hostagent.setup import requirements
from hostagent.setup.request import RequestError
from hostagent.snapshot.documents import yaml_document

SECONDS, MEBIBYTES = 2.0, 100
#: What a reader looks at first.
KEYS = ("kind", "current-context", "contexts", "cdiVersion", "devices", "drivers", "kubelet-arg", "metadata", "spec", "name", "description")


def grown(first: str, row: str, count: int) -> str:
    """Values each of which names the one before; the last of them at the keys that readers look at."""
    rows = [f"a0: &a0 {first}", *(row.format(new=one, old=one - 1) for one in range(1, count))]
    return "\n".join((*rows, *(f"{key}: *a{count - 1}" for key in KEYS), ""))


BOMBS = {
    "sequences": grown("[x, x]", "a{new}: &a{new} [*a{old}, *a{old}, *a{old}, *a{old}, *a{old}, *a{old}, *a{old}, *a{old}, *a{old}]", 12),
    "mappings": grown("{x: 1}", "a{new}: &a{new}\n  a: *a{old}\n  b: *a{old}\n  c: *a{old}", 40),
    "merge keys": grown("{x: 1}", "a{new}: &a{new}\n  <<: [*a{old}, *a{old}, *a{old}]\n  k{new}: 1", 40),
    "merged mappings": grown("{x: 1}", "a{new}: &a{new}\n  <<: *a{old}\n  k{new}: *a{old}\n  m{new}: *a{old}", 40),
    "a list in itself": "a: &a [*a]\n" + "".join(f"{key}: *a\n" for key in KEYS),
    "a mapping in itself": "a: &a {kind: *a, containers: [*a]}\n" + "".join(f"{key}: *a\n" for key in KEYS),
    "a long text": f"a: &a {'x' * 400_000}\nb: [{', '.join(['*a'] * 9000)}]\n",
    "a long key": f"? &a {'x' * 400_000}\n: 1\nb:\n" + "  - {*a : 1}\n" * 4000,
    "keys": "? &a [x]\n: 1\n? *a\n: 2\nb: [*a]\n",
    "levels": grown("{}", "a{new}: &a{new}\n  b: *a{old}", 5000),
    "lists of one": grown("[]", "a{new}: &a{new} [*a{old}]", 5000),
    "pairs": grown("!!pairs [x: 1]", "a{new}: &a{new} !!pairs [x: *a{old}, y: *a{old}, z: *a{old}]", 40),
    "wide": f"a: &a [{'x, ' * 20_000}]\nb: [{', '.join(['*a'] * 9000)}]\n",
}


def in_a_file(read):
    def of(data, folder):
        path = folder / "file"
        path.write_bytes(data)
        path.chmod(0o600)
        return read(str(path))

    return of


def of_bytes(read):
    return lambda data, _: read(data)


#: What reads, and how it refuses.
READERS = {
    "kubeconfig": (in_a_file(kubeconfig), HostagentError),
    "the kubelet's configuration": (of_bytes(parse_document), ValueError),
    "the kubelet's configuration for the runtime": (of_bytes(lambda data: runtime._values("/x", data)), UnreadError),
    "a distribution's configuration": (of_bytes(lambda data: list(read_distributions._passed_on("/x", data, []))), UnreadError),
    "a distribution's configuration for the runtime": (of_bytes(lambda data: runtime._own_values("/x", data)), UnreadError),
    "a CDI specification": (of_bytes(parse_spec), CdiError),
    "cloud-init's configuration": (of_bytes(lambda data: parse_drivers(data.decode())), ValueError),
    "topology --pod FILE": (in_a_file(lambda path: pods.pods_of((path,))), click.UsageError),
    "a profile": (in_a_file(lambda path: profile.load(path, site_file="")), HostagentError),
    "TAO's requirements": (of_bytes(lambda data: requirements.parse_requirements(data, "x")), RequestError),
    "any": (of_bytes(parse_foreign_yaml), YamlError),
}


def within_bounds(work) -> str:
    """What `work` told, in a process that ends by a signal or with ``MemoryError`` where it takes more than it may."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(ours)
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            most = pages * os.sysconf("SC_PAGE_SIZE") + (MEBIBYTES << 20)
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                told = work()
            except BaseException as error:
                told = f"{type(error).__name__}: {error}"
            os.write(theirs, told.encode("utf-8", "backslashreplace")[:4000])
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        told = pipe.read().decode()
    _, status = os.waitpid(pid, 0)
    assert not os.WIFSIGNALED(status), f"it took more than {SECONDS:g} processor seconds"
    return told


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("reader", READERS)
def test_everyone_refuses_what_grows(reader, bomb, tmp_path):
    read, refusal = READERS[reader]

    def work():
        try:
            read(BOMBS[bomb].encode(), tmp_path)
        except refusal as error:
            return f"refused {len(str(error))}"
        return "taken"

    told = within_bounds(work)
    assert told.startswith("refused ")
    assert int(told.split()[1]) < 1000, "the refusal quotes what grows"


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_snapshot_keeps_nothing_that_grows(bomb):
    names = tuple(KEYS)
    told = within_bounds(lambda: str(len(yaml_document(BOMBS[bomb].encode(), names, lambda _: "0" * 12))))
    assert int(told) < 1_000_000


def test_the_documents_of_one_file_stand_for_no_more_than_one(tmp_path):
    one = "---\na: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b]\nkind: *c\n"
    path = tmp_path / "pods.yaml"
    path.write_text(one * 5000)

    def work():
        try:
            pods.pods_of((str(path),))
        except click.UsageError as error:
            return str(error)
        return "taken"

    assert "found aliases that stand for more than 200000 values" in within_bounds(work)


@pytest.mark.parametrize(
    "text",
    [
        f"{'k' * 400_000}: [{'{}, ' * 9000}]\nkind: x\n",
        "items:\n"
        + "".join(f"- {{template: {{spec: {{containers: [{{resources: {{limits: {{cpu: {one}}}}}}}]}}}}}}\n" for one in range(3000)),
    ],
    ids=["a long key above many values", "thousands of templates"],
)
def test_what_grows_without_an_alias_is_no_more_to_a_manifest(text, tmp_path):
    """One a file of JSON can have, too: what is below a key has its name in its place; each template is compared with those before it."""
    path = tmp_path / "pods.yaml"
    path.write_text(text)

    def work():
        try:
            pods.pods_of((str(path),))
        except click.UsageError as error:
            return str(error)
        return "taken"

    assert within_bounds(work).startswith("--pod ")


def test_aliases_that_stand_for_little_are_read():
    data = b"a: &a {x: [1, '*']}\nb: [*a, *a]\nc: &c text\n*c : *c\n"
    x = {"x": [1, "*"]}
    assert parse_foreign_yaml(data) == {"a": x, "b": [x, x], "c": "text", "text": "text"}
    from hostagent.core.yamlfile import foreign_documents

    assert list(foreign_documents((data, b"b: 1"))) == [parse_foreign_yaml(data), {"b": 1}]


def repeated(unit, size=1_000_000) -> bytes:
    return unit.encode() * (size // len(unit.encode()))


def deeper(line, step, size=1_000_000) -> bytes:
    """Lines each of which is further to the right than the one before, of no more than `size` bytes together."""
    rows, left, at = list[str](), size, 0
    while (left := left - len((row := " " * at + line).encode())) >= 0:
        rows.append(row)
        at += step
    return "".join(rows).encode()


DASHES = "- " * 45_000 + "x"
#: What nests, or looks as if it did: the whole stack of a process, were it built.
DEEP = {
    "a byte order mark": ("\ufeff" + DASHES).encode(),
    "a carriage return": ("\r" + DASHES).encode(),
    "a line of ISO 8859": ("# c\x85" + DASHES).encode(),
    "a separator of lines": ("# c\u2028" + DASHES).encode(),
    "a separator of paragraphs": ("# c\u2029" + DASHES).encode(),
    "a mark of a document": ("---\r" + DASHES).encode(),
    "a mark of a document and a tag": ("--- !t\r" + DASHES).encode(),
    "a key": ("a:\r" + DASHES).encode(),
    "a key with blanks": ("a:\r " + DASHES).encode(),
    "wide": repeated("-   ", 390_000),
    "with tabs": repeated("-\t"),
    "values": repeated(": ", 390_000),
    "questions": repeated("? ", 390_000),
    "questions and values": repeated("? : ", 390_000),
    "questions and dashes": repeated("? - ", 390_000),
    "values and dashes": repeated(": - ", 390_000),
    "all": repeated("- ? : ", 390_000),
    "anchors": repeated("- &a ", 900_000),
    "tags": repeated("- !t ", 900_000),
    "tags and questions": repeated("? !t ", 900_000),
    "keys": repeated("a: ", 390_000),
    "keys and dashes": repeated("- a: ", 900_000),
    "aliases": repeated("- *a ", 900_000),
    "brackets": repeated("[", 9_000),
    "brackets after a mark": b"\xef\xbb\xbf" + repeated("[{a: ", 9_000),
    "questions in brackets": b"[" + repeated("? ", 390_000),
    "pairs in brackets": b"[" + repeated("a: ", 390_000),
    "UTF-16": ("\ufeff" + "- " * 100_000).encode("utf-16-le"),
    "UTF-16, the other order": ("\ufeff" + "- " * 100_000).encode("utf-16-be"),
    "UTF-16 brackets": ("\ufeff" + "[" * 100_000).encode("utf-16-le"),
    "UTF-16 without a mark": ("- " * 100_000).encode("utf-16-le"),
    "indented keys": deeper("a:\n", 1),
    "indented dashes": deeper("-\n", 1),
    "indented questions": deeper("?\r", 1),
    "indented after a separator": deeper("-\u2028", 1),
    "indented after ISO 8859": deeper("?\x85", 1),
    "indented lists without indentation": deeper("- a:\n", 2),
    "indented runs": deeper("- " * 499 + "\n", 998),
    "indented short runs": deeper("- " * 19 + "\n", 38),
    "indented runs of all": deeper("- ? : " * 6 + "\n", 36),
    "indented anchors": deeper("- &a\n", 1),
    "indented tags": deeper("- !t\n", 1),
}


@pytest.mark.parametrize("read", [parse_foreign_yaml, parse_go_yaml, parse_yaml], ids=lambda read: read.__name__)
@pytest.mark.parametrize("name", DEEP)
def test_no_way_to_nest_ends_the_process(name, read):
    def work():
        try:
            read(DEEP[name])
        except ValueError as error:
            return f"refused: {error}"
        return "taken"

    assert within_bounds(work).startswith("refused: ")


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_utf_16_is_not_read(mark):
    with pytest.raises(YamlError, match="found UTF-16, wanted UTF-8"):
        parse_foreign_yaml(mark + "a: 1".encode("utf-16-le" if mark[0] == 0xFF else "utf-16-be"))


@pytest.mark.parametrize(
    "unit", ["- " * 499 + "x", "- " * 499 + "\n", "-\t" * 499 + "x", "- " * 19 + "x", "-" + " " * 499, "-", " ", "? :\t"]
)
def test_looking_for_runs_takes_little_time(unit):
    data = repeated(unit)

    def work():
        begun = time.process_time()
        for _ in _RUN.finditer(data):
            pass
        with contextlib.suppress(YamlError, yaml.YAMLError):
            refuse_depth(data)
        return str(time.process_time() - begun)

    assert float(within_bounds(work)) < 0.3


#: What takes long for its size, and keeps to the limits of values and levels.
SLOW = {
    "base 60": b"a: " + b"1:" * 400_000 + b"1",
    "real of base 60": b"a: " + b"1:" * 400_000 + b"1.5",
    "real of base 60 by its tag": b"a: !!float " + b"1:" * 400_000 + b"1",
    "digits": b"a: " + b"1" * 900_000,
    "hexadecimal digits": b"a: 0x" + b"1" * 900_000,
    "digits of a real": b"a: 1." + b"1" * 900_000,
    "a time with blanks": b"a: !!timestamp 2001-01-01" + b" " * 900_000 + b"x",
    "a time with digits": b"a: !!timestamp 2001-01-01 10:00:00." + b"1" * 900_000 + b"x",
    "octets": b"a: !!binary " + b"QUJD" * 200_000,
    "keys that are alike to a dictionary": b"".join(b"%d: 1\n" % (one * (2**61 - 1)) for one in range(30_000)),
    "keys of 64 bits": b"".join(b"%d: 1\n" % (one << 40) for one in range(30_000)),
    "a set": b"!!set {" + b"".join(b"%d," % (one * (2**61 - 1)) for one in range(30_000)) + b"}",
    "one merge behind another": b"a: &a {}\nb:\n" + b" <<: *a\n" * 66_000,
    "lines of tags": b"".join(b"%%TAG !%d! x\n" % one for one in range(60_000)) + b"---\na: 1\n",
}


@pytest.mark.parametrize("read", [parse_foreign_yaml, parse_go_yaml], ids=lambda read: read.__name__)
@pytest.mark.parametrize("name", SLOW)
def test_nothing_small_takes_long(name, read):
    def work():
        try:
            read(SLOW[name])
        except ValueError:
            return "refused"
        return "taken"

    assert within_bounds(work) in {"taken", "refused"}


@pytest.mark.parametrize("read", [parse_foreign_yaml, parse_yaml], ids=lambda read: read.__name__)
def test_numbers_as_keys_are_few(read):
    assert len(read(b"".join(b"%d: 1\n" % one for one in range(1000)))) == 1000
    with pytest.raises(YamlError, match="more than 1000 numbers or merges as keys of one mapping"):
        read(b"".join(b"%d: 1\n" % one for one in range(1001)))


def test_numbers_that_are_merged_are_few():
    data = b"".join(b"a%d: &a%d {%s}\n" % (one, one, b", ".join(b"%d: 1" % (one * 500 + at) for at in range(500))) for one in range(3))
    assert len(parse_foreign_yaml(data + b"b: {<<: [*a0, *a1]}\n")["b"]) == 1000
    with pytest.raises(YamlError, match="more than 1000 numbers or merges"):
        parse_foreign_yaml(data + b"b: {<<: [*a0, *a1, *a2]}\n")
