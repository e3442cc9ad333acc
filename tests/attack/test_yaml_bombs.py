"""Small YAML that stands for more than any machine holds, fed to everyone who reads YAML of others: refused, in little time and memory."""

import os
import resource
import signal
from pathlib import Path

import click
import pytest

from hostagent import profile
from hostagent.cli import pods
from hostagent.collect.cdi.spec import CdiError, parse_spec
from hostagent.collect.installation.cloudinit import parse_drivers
from hostagent.collect.kubelet import distributions
from hostagent.collect.kubelet.documents import parse_document
from hostagent.collect.runtime import kubelet as runtime
from hostagent.errors import HostagentError
from hostagent.facts.unread import UnreadError
from hostagent.kube.config import kubeconfig
from hostagent.setup import requirements
from hostagent.setup.request import RequestError
from hostagent.snapshot.documents import yaml_document
from hostagent.yamlfile import YamlError, parse_foreign_yaml

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
    "a distribution's configuration": (of_bytes(lambda data: list(distributions._passed_on("/x", data, []))), UnreadError),
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
    from hostagent.yamlfile import foreign_documents

    assert list(foreign_documents((data, b"b: 1"))) == [parse_foreign_yaml(data), {"b": 1}]
