"""YAML that other programs write: merges and numbers as PyYAML's safe loader has them, but for what costs too much."""

import random

import pytest
import yaml

from hostagent.core.yamlfile import YamlError, foreign_documents, parse_foreign_yaml

KUBECONFIG = b"""
apiVersion: v1
kind: Config
x-user: &user {client-certificate: /c, client-key: /k}
users:
- name: a
  user: {<<: *user}
- name: b
  user:
    <<: *user
    client-key: /other
clusters: [{name: c, cluster: &cluster {server: "https://a:6443", insecure-skip-tls-verify: no}}, {name: d, cluster: {<<: *cluster, server: "https://b"}}]
"""
MANIFEST = b"""
kind: Pod
spec:
  containers:
  - &base
    name: a
    resources: &resources {limits: {nvidia.com/gpu: 8}}
    env: [{name: A, value: "*"}]
  - <<: *base
    name: b
  - <<: [{name: c, image: x}, *base]
    resources: {<<: *resources, requests: {memory: 0x10}}
"""
INLINE = b"a: {<<: {b: 1, c: 2}, c: 3}\nd:\n  <<:\n    e: 010\n    <<: {f: 1_000}\n  <<: {g: 1:30}\n'<<': text\n"
MERGES = {
    "kubeconfig": KUBECONFIG,
    "manifest": MANIFEST,
    "no alias": INLINE,
    "tagged": b"a: &a {b: 1}\nc: {!!merge x: *a}\nd: !!omap [x: *a]\n",
    "byte order mark": b"\xef\xbb\xbfa: &a {b: 1}\nc: {<<: *a}\n",
    "twice": b"a: &a {b: 1, c: 1}\nd: &d {b: 2}\ne:\n  <<: *a\n  <<: *d\n  b: 3\nf: {<<: [*d, *a]}\n",
}


@pytest.mark.parametrize("name", MERGES)
def test_merges_are_those_of_the_safe_loader(name):
    assert parse_foreign_yaml(MERGES[name]) == yaml.load(MERGES[name], yaml.SafeLoader)


def test_a_merge_gives_what_it_names():
    assert parse_foreign_yaml(MANIFEST)["spec"]["containers"][1]["resources"] == {"limits": {"nvidia.com/gpu": 8}}
    assert parse_foreign_yaml(KUBECONFIG)["users"][1]["user"] == {"client-certificate": "/c", "client-key": "/other"}


def generated(rng: random.Random) -> bytes:
    """Mappings at the top, each of which may name, hold or merge those before it."""
    rows = list[str]()
    for at in range(rng.randint(2, 9)):
        rows.append(f"m{at}: &m{at}")
        for key in rng.sample("abcdef", rng.randint(1, 4)):
            rows.append(f"  {key}: {rng.choice(['1', '0x1f', '1:30', 'yes', '~', 'text', f'*m{rng.randrange(at)}' if at else '1.5'])}")
        if at and rng.random() < 0.7:
            names = [f"*m{rng.randrange(at)}" for _ in range(rng.randint(1, 3))]
            rows.insert(len(rows) - rng.randint(0, 1), f"  <<: {names[0] if len(names) == 1 else '[' + ', '.join(names) + ']'}")
        if rng.random() < 0.3:
            rows.append("  <<: {g: 1, a: {<<: {h: '*'}}}")
    return "\n".join(rows).encode()


def test_generated_documents_with_merges_are_those_of_the_safe_loader():
    rng = random.Random(10)
    for _ in range(400):
        data = generated(rng)
        assert parse_foreign_yaml(data) == yaml.load(data, yaml.SafeLoader), data


MERGE_BOMB = "a0: &a0 {x: 1}\n" + "".join(f"a{one}: &a{one}\n  <<: [*a{one - 1}, *a{one - 1}, *a{one - 1}]\n" for one in range(1, 40))


@pytest.mark.parametrize("before", ["", "\ufeff", "# '\n", "'\\x2a': 1\n", '? "\\u002a"\n: 1\n'], ids=ascii)
def test_a_bomb_of_merges_is_refused_by_its_count(before):
    with pytest.raises(YamlError, match="aliases that stand for more than 200000 values"):
        parse_foreign_yaml((before + MERGE_BOMB).encode())


@pytest.mark.parametrize(
    "data", [b"a: &a x\nb: \xc0\xaaa\n", b"\xff\xfe" + MERGE_BOMB.encode("utf-16-le"), b"\xfe\xff" + MERGE_BOMB.encode("utf-16-be")]
)
def test_no_encoding_hides_an_alias(data):
    with pytest.raises(YamlError):
        parse_foreign_yaml(data)


def test_a_star_in_a_text_refuses_nothing():
    data = b"a: '*'\nb: \"\\x2a *c\"\nd: {<<: {e: '*a'}}\n"
    assert parse_foreign_yaml(data) == {"a": "*", "b": "* *c", "d": {"e": "*a"}}
    assert list(foreign_documents((data, data))) == [parse_foreign_yaml(data)] * 2


def test_a_merge_of_itself_is_refused():
    with pytest.raises(YamlError, match="found an alias in what it stands for"):
        parse_foreign_yaml(b"a: &a\n  <<: *a\n")
    with pytest.raises(YamlError, match="expected a mapping"):
        parse_foreign_yaml(b"a: {<<: 1}\n")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", "18446744073709551616"),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775809", "-9223372036854775809"),
        ("0b" + "1_" * 63 + "1", 2**64 - 1),
        ("0x" + "f" * 17, "0x" + "f" * 17),
        ("1:30:00", 5400),
        ("1:30:00.5", 5400.5),
        ("1" + ":00" * 6, 60**6),
        ("1" + ":00" * 7, "1" + ":00" * 7),
        ("1" + ":0" * 400 + ".5", "1" + ":0" * 400 + ".5"),
        ("!!float " + "1:" * 400 + "1", "1:" * 400 + "1"),
        ("!!int '1" + ":0" * 400 + "'", "1" + ":0" * 400),
        ("9" * 5000, "9" * 5000),
        ("010", 8),
        ("1_000", 1000),
        ("1.5", 1.5),
    ],
    ids=lambda one: str(one)[:30],
)
def test_a_number_that_is_too_long_is_text(text, value):
    found = parse_foreign_yaml(f"a: {text}".encode())["a"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "tag", ["python/object/apply:os.system", "python/tuple", "python/name:os.system", "python/module:os", "python/str"]
)
def test_no_tag_of_python_is_taken(tag):
    with pytest.raises(YamlError, match="could not determine a constructor"):
        parse_foreign_yaml(f"a: !!{tag} [x]".encode())
