"""Redaction: secrets and identities leave, structure and what only looks like an identity stay."""

import base64
import json
import time

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from hostagent.secret.names import without_secret_arguments, without_secrets
from hostagent.snapshot.redact import Redactor

try:
    import tomllib
except ImportError:
    import tomli as tomllib

KEY = b"k" * 32
REDACTOR = Redactor(KEY, ("gpu-17.dc1.corp.example.com", "gpu-17"))


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ('password = "correct horse battery staple"', ["correct", "horse", "staple"]),
        ('password = "a,b;c"', ["a,b", ";c"]),
        ("password: correct horse, battery # why", ["correct", "battery"]),
        ("PASSWORD=!hunter;2", ["hunter", ";2"]),
        ("export K3S_TOKEN=K10ab,cd", ["K10ab", "cd"]),
        ("token: |\n  line1\n  line2\nx: 1\n", ["line1", "line2"]),
        ('auth = {username = "svc", password = "hunter2"}', ["svc", "hunter2"]),
        ('{"auths": {"r": {"auth": "c3ZjOnB3"}}}', ["c3ZjOnB3"]),
        ('"{\\"auth\\": \\"c3ZjOnB3\\"}"', ["c3ZjOnB3"]),
        ('"auth":\n  "c3ZjOnB3"', ["c3ZjOnB3"]),
        ("tokens: [first, 'second']", ["first", "second"]),
        ("tokens: [\n first,\n 'second'\n]", ["first", "second"]),
        ('["docker", "-e", "API_TOKEN=a b,c"]', ["a b", ",c"]),
        ('Authorization = ["Bearer eyJ.JWT"]', ["eyJ"]),
        ("Authorization: Basic dXNlcjpwdw==", ["dXNl"]),
        ("Authorization: Bearer eyJ.JWT", ["eyJ"]),
        ('"X-Custom": "Basic dXNlcjpwdw=="', ["dXNl"]),
        ("curl -H 'X: Bearer eyJhbGciOi'", ["eyJ"]),
        ("https://ghp_TOKEN@host/x", ["ghp"]),
        ("deb https://TOKEN@apt.example.org/ x", ["TOKEN"]),
        ("http://bob:p@ss@proxy:3128", ["bob", "p@", "ss@"]),
        ("http://bob:p/ss@proxy", ["bob", "p/ss"]),
        ("http://:pw@proxy", ["pw@"]),
        ("api-key = abc", ["abc"]),
        ("aws_secret_access_key = abc", ["abc"]),
        ('client_secret_id = "X1"', ["X1"]),
        ('passphrase = "x y"', ["x y"]),
        ("credential: foo", ["foo"]),
        ('"password": 12345678', ["12345678"]),
        ("k3s agent --token K10abc --x", ["K10abc"]),
        ("k3s \\\n\t'--token' \\\n\t'K10abc' \\\n", ["K10abc"]),
        ("- --token\n- K10abc\n", ["K10abc"]),
        ('["--token", "K10abc"]', ["K10abc"]),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----", ["MIIE"]),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE", ["MIIE"]),
        ('{"auths": {"r": {"auth": "c3ZjOnB3', ["c3Zj"]),
        ("token = 'it was cut} ", ["it", "was", "cut"]),
        ('{"password": ", x"}', [", x"]),
        ("TOKEN=', x'", [", x"]),
        ('"password = a b"', ["a b"]),
        ("https://h:80/x,https://bob:p/ss@h", ["bob", "p/ss"]),
        ("https://a:b@h/?u=https://bob:pw@h2", ["a:b", "bob", "pw"]),
        ("[2001:db8::17]:5000", ["2001:db8", "::17"]),
        ("fe80::42:acff:fe11:2%eth0", ["acff", "fe11"]),
        ("2001:db8:0:0:0:0:0:17", ["2001:db8"]),
        ("80:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:1a:2b:3c", ["02:c9:03", "1a:2b:3c"]),
        ("enx0242ac110002 02-42-ac-11-00-03", ["0242ac110002", "02-42-ac"]),
        ("gpu-18.dc1.corp.example.com registry.Corp.example.com", ["gpu-18", "corp", "Corp", "registry"]),
        ("gpu-17_old gpu-17", ["gpu-17"]),
        ("ops@other.example.org", ["ops", "other"]),
        ("[/home/alice]", ["alice"]),
    ],
)
def test_a_secret_or_an_identity_leaves(text, secrets):
    redacted = REDACTOR.text(text)
    assert not [secret for secret in secrets if secret in redacted], redacted


@pytest.mark.parametrize(
    "text",
    [
        "0000:1b:00.0 at 12:34:56, 00000000:1B:00.0",
        "580.159.03.1 1:2.3-4ubuntu5 6.8.0-31-generic",
        "8be4df61-93ca-11d2-aa0d-00e098032b8c",
        "/home/kubernetes/bin/nvidia",
        "libsecret-1-0:amd64 (0.21.4-1build3), passwd:amd64 (1:4.13)",
        '"authorization-plugins": ["a"]',
        "--authentication-token-webhook=true --token-file /etc/token",
        "author:         NVIDIA",
        "Maintainer: NVIDIA CORPORATION <packages@nvidia.com>",
        "getty@tty1.service e2scrub@.service",
        "nvcr.io/nvidia/driver@sha256:abc nvidia.com/gpu=all",
        '"auth": {"a": 1}, "password": null, "token": [], "secret": ""',
        "auth = true",
        '["TOKEN=", "x=1"]',
        '["TOKEN=", 1]',
        '["password = ", ";"]',
        '["--token ", "x", "x tokens: [", ", "]',
        "- |-\n  tokens: [\n- !!bool |-\n  false\n",
        'x = "TOKEN=" # y',
        'x = "--token", token = []',
        '{"x" : "--token", "token" : []}',
        "- --token\n- token:\n    a: null\n",
        ":: ::1 dead::beef_t std::cafe",
        "https://host:80/a@b unix:///run/a@b",
    ],
)
def test_what_is_neither_stays(text):
    assert REDACTOR.text(text) == text


def test_a_host_called_as_its_system_or_its_gpu_keeps_its_evidence():
    for name in ("ubuntu", "nvidia", "h100", "x.nvidia.com"):
        text = "ID=ubuntu NVIDIA H100 nvidia.com/gpu=0 nvidia 1 2"
        assert Redactor(KEY, (name, name.partition(".")[0])).text(text) == text


KEYS = st.sampled_from(
    ["auth", "auths", "token", "tokens", "password", "Authorization", "api-key", "authorization-plugins", "username", "env", "x"]
)
TEXTS = st.sampled_from(
    ["", "a b", "a,b;c", "TOKEN=", "PASSWORD=x y", "--token", "K10", "Bearer eyJhbGciOi", "{}", "[", "it's", 'say "x"', "#", "a: b", "\\",
     "https://a:b@c/d", "ops@example.org", "2001:db8::1", "token: |", "password = ", "1", "null", "a\nb", "é", "--token ", "tokens: [", "auth : ", "token: \n", ",", "}",
     "/home/alice", "gpu-17", "02:42:ac:11:00:02", "192.168.7.9"]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)  # fmt: skip
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)


@example(document={"x": '/home/alice"'}, indent=None, separators=None)
@given(DOCUMENTS, st.sampled_from([None, 1, 4]), st.sampled_from([None, (",", ":"), (" , ", " : ")]))
def test_json_that_parsed_still_parses(document, indent, separators):
    redacted = json.loads(REDACTOR.text(json.dumps(document, indent=indent, separators=separators)))
    assert skeleton(redacted) == skeleton(document)


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, "'", '"', "|"]))
@example(document={"auth": ["it's"], "auths": ","}, flow=True, style=None)
@example(document={"auth": ["it's"], "auths": [{"auths": "password = ", "token": ","}]}, flow=True, style=None)
@example(document={"auth": ["tokens: [", False]}, flow=False, style="|")
def test_yaml_that_parsed_still_parses(document, flow, style):
    yaml.safe_load(REDACTOR.text(yaml.safe_dump(document, default_flow_style=flow, default_style=style, width=10_000)))


@given(DOCUMENTS)
@example({"auth": {"auth": [], "auths": "--token", "token": []}})
@example({"auth": [["password = ", ";"]]})
@example({"auth": [['"', "TOKEN=", False]]})
def test_toml_that_parsed_still_parses(document):
    written = "".join(f"{json.dumps(key)} = {toml(value, key=json.dumps)}\n" for key, value in document.items())
    bare = "".join(f"{key} = {toml(value)} # don't\n" for key, value in document.items())
    for text in (written, bare):
        assert skeleton(tomllib.loads(REDACTOR.text(text))) == skeleton(tomllib.loads(text))


def toml(value, key=str):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key(name)} = {toml(item, key)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(item, key) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def skeleton(value):
    """What is left when the text of strings and the numbers are taken away."""
    if isinstance(value, dict):
        return {key: skeleton(item) for key, item in value.items()}
    return [skeleton(item) for item in value] if isinstance(value, list) else type(value).__name__


@given(st.text(alphabet="token:=-\"'[]{},\\ \n|@/a0#.&", max_size=200))
def test_any_text_is_redacted_twice_as_once(text):
    once = without_secrets(text)
    assert isinstance(without_secrets(once), str)


@pytest.mark.parametrize("unit", ["token", "token ", "token=", 'token="', "a:", "://a", "- ", " ", "token: |\n", "token=[", '"', "x@a.", "--token-", "1.", "-----BEGIN PRIVATE KEY-----"])  # fmt: skip
def test_long_evidence_takes_time_in_proportion(unit):
    text = unit * (200_000 // len(unit))
    started = time.process_time()
    REDACTOR.text(text)
    assert time.process_time() - started < 10


def test_binary_evidence_is_redacted_too():
    encoded = {"base64": base64.b64encode(b"\xff token = hunter2\n").decode()}
    assert b"hunter2" not in base64.b64decode(REDACTOR.answers({"read /x": encoded})["read /x"]["base64"])


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [
        (["k3s", "agent", "--token", "K10"], ["k3s", "agent", "--token", "<removed>"]),
        (["/usr/local/bin/rke2", "agent", "-t", "K10"], ["/usr/local/bin/rke2", "agent", "-t", "<removed>"]),
        (["k3s", "-t=K10"], ["k3s", "-t=<removed>"]),
        (["k3s", "--etcd-s3-access-key", "AK", "--x"], ["k3s", "--etcd-s3-access-key", "<removed>", "--x"]),
        (["chronyd", "-t", "10"], ["chronyd", "-t", "10"]),
        (["kubelet", "--token-file", "/x", "--authentication-token-webhook=true"], ["kubelet", "--token-file", "/x", "--authentication-token-webhook=true"]),
        (["a", "--agent-token=K10 x"], ["a", "--agent-token=<removed>"]),
        (["a", "K3S_TOKEN=K10"], ["a", "K3S_TOKEN=<removed>"]),
        (["a", "--db=mysql://u:p@tcp(h)/d"], ["a", "--db=mysql://<removed>@tcp(h)/d"]),
        (["a", "--header", "Authorization: Bearer eyJ"], ["a", "--header", "Authorization: <removed>"]),
        ([], []),
    ],
)  # fmt: skip
def test_a_secret_leaves_a_command_line(argv, wanted):
    assert without_secret_arguments(argv) == wanted
