"""What is wrong with a profile: everything at once, each with file, line and key, and how to write it instead."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.core.errors import HostagentError
from hostagent.core.typed import plain, schema
from hostagent.core.yamlfile import parse_yaml, places
from hostagent.engine.catalogue import OURS, load, refuse_unknown_ids, with_unknown_ids
from hostagent.profiles.files import names
from hostagent.profiles.mistakes import ProfileError
from hostagent.profiles.profile import Profile
from hostagent.profiles.profile import load as load_profile

CHECKS = load([OURS])


@pytest.fixture
def write(tmp_path):
    def write(content, name="b.yaml"):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return str(path)

    return write


def mistake(path, site=""):
    """What the command line raises, None where nothing is wrong."""
    try:
        refuse_unknown_ids(CHECKS, load_profile(path, site_file=site))
    except ProfileError as error:
        return with_unknown_ids(error)
    except HostagentError as error:
        return error
    return None


def told(path, site=""):
    """All sentences, as the command line has them."""
    error = mistake(path, site)
    assert error.next_step
    return error.details or (error.message,)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# a\nchecks:\n  gpu.temprature: {off: x}\n", "b.yaml:3: no check gpu.temprature; did you mean gpu.temperature?"),
        (
            "checks: {host.clock_synchronised: off}",
            "b.yaml:1: checks.host.clock_synchronised: found 'off'; write {off: \"why\"}: the reason is printed in every report",
        ),
        (
            "checks:\n  host.clock_synchronised: {off: true}",
            'b.yaml:2: checks.host.clock_synchronised.off: found true; write {off: "why"}: the reason is printed in every report',
        ),
        (
            "checks: {gpu.lost: false}",
            'b.yaml:1: checks.gpu.lost: found false; write {off: "why"}: the reason is printed in every report',
        ),
        (
            "checks: {gpu.lost: {off: null}}",
            'b.yaml:1: checks.gpu.lost.off: found nothing; write {off: "why"}: the reason is printed in every report',
        ),
        ("driver: {version: 580}", 'b.yaml:1: driver.version: found the number 580; quote it: version: "580.*"'),
        ("driver: {install: 580}", 'b.yaml:1: driver.install: found the number 580; quote it: install: "580"'),
        ("toolkit: {version: 1.20}", 'b.yaml:1: toolkit.version: found the number 1.20; quote it: version: "1.20"'),
        ("cuda: {toolkit: 13}", 'b.yaml:1: cuda.toolkit: found the number 13; quote it: toolkit: "13.*"'),
        (
            'driver: {version: "580"}',
            'b.yaml:1: driver.version: found \'580\', which is a branch and no version: write "580.*" for all of it, or ">=580"',
        ),
        ("checks: {'gpu.*': {off: x}}", "b.yaml:1: no check 'gpu.*': patterns are not supported; name each check"),
        ("checks: {gpu: {off: x}}", "b.yaml:1: no check gpu: it is a family; name each check"),
        ("checks: {zzz: {off: x}}", "b.yaml:1: no check zzz"),
        (
            "checks: {gpu.xid: {params: {ignor: [79]}}}",
            "b.yaml:1: checks.gpu.xid.params.ignor: no such parameter; did you mean ignore?",
        ),
        (
            "checks: {gpu.on_bus: {params: {x: 1}}}",
            "b.yaml:1: checks.gpu.on_bus.params.x: no such parameter: gpu.on_bus has none",
        ),
        (
            "checks:\n  gpu.xid:\n    params:\n      ignore: many\n",
            "b.yaml:4: checks.gpu.xid.params.ignore: found the text 'many', wanted a list of whole numbers such as [79, 154]",
        ),
        (
            "checks:\n  gpu.xid:\n    params:\n      ignore:\n      - 79\n      - x\n",
            "b.yaml:6: checks.gpu.xid.params.ignore[1]: found the text 'x', wanted a whole number",
        ),
        (
            "checks: {gpu.temperature: {params: {min_margin_celsius: .nan}}}",
            "b.yaml:1: checks.gpu.temperature.params.min_margin_celsius: found nan, wanted texts, finite numbers, true or false",
        ),
        ("pods: {sub_node: {gpus: -1}}", "b.yaml:1: pods.sub_node.gpus: found -1, wanted 0 (all of the host) or more"),
        ("pods: {sub_node: {nics: -2}}", "b.yaml:1: pods.sub_node.nics: found -2, wanted 0 or more"),
        ("pods: {sub_node: {gpu: 4}}", "b.yaml:1: pods.sub_node.gpu: unknown key; did you mean gpus?"),
        ("pods: {sub_node: {cpus: four}}", "b.yaml:1: pods.sub_node.cpus: found 'four', wanted CPUs such as 16 or \"7500m\""),
        ("pods: {sub_node: {cpus: -1}}", 'b.yaml:1: pods.sub_node.cpus: found -1, wanted CPUs such as 16 or "7500m"'),
        ("pods: {sub_node: {cpus: 0.5}}", "b.yaml:1: pods.sub_node.cpus: found the number 0.5, wanted a whole number or text"),
        ("pods:\n  big:\n    memory: 200GB\n", "b.yaml:3: pods.big.memory: found '200GB', wanted bytes or a quantity such as 200Gi"),
        (
            "pods: {'8 GPUs': {gpus: 8}}",
            "b.yaml:1: pods.8 GPUs: found the name '8 GPUs', wanted letters, digits, - and _ (at most 63, a letter first)",
        ),
        ("pods: [8]", "b.yaml:1: pods: found the list [8], wanted a mapping"),
        ("topology: {cpu_nodes_per_package: -1}", "b.yaml:1: topology.cpu_nodes_per_package: found -1, wanted 0 (any) or more"),
        (
            "kubelet: {configz: {address: 'https://127.0.0.1', ca: /ca.crt, token_file: /token}}",
            "b.yaml:1: kubelet.configz.address: found 'https://127.0.0.1', wanted a host and a port such as 127.0.0.1:10250",
        ),
        (
            "kubelet:\n  configz:\n    address: 127.0.0.1:10250\n    ca: ca.crt\n    token_file: /token\n",
            "b.yaml:4: kubelet.configz.ca: found 'ca.crt', wanted the path of a file, from /",
        ),
        (
            "kubelet: {configz: {ca: /ca.crt, token_file: ''}}",
            "b.yaml:1: kubelet.configz.ca: found '/ca.crt' and no address, wanted address, ca and token_file, or \"\" for all of them",
        ),
        ("install: {lock_timeout_s: -1}", "b.yaml:1: install.lock_timeout_s: found -1, wanted seconds from 0 to 86400 (a day)"),
        (
            "install:\n  before: [[]]\n",
            "b.yaml:2: install.before[0]: found 0 words, wanted a program and its arguments: [[kubectl, drain, node-1]]",
        ),
        (
            "install: {after: [[./drain]]}",
            "b.yaml:1: install.after[0]: found the program './drain', wanted its name, or its path from /",
        ),
        (
            "install: {before: kubectl drain n}",
            "b.yaml:1: install.before: found 'kubectl drain n'; write a list of programs, each with its arguments: before: [[kubectl, drain, node-1]]",
        ),
        ("install: {restart: yes}", "b.yaml:1: install.restart: found 'yes', wanted one of auto, always, never"),
        (
            "install: {repositories: {cuda: {url: 'https://svc:hunter2/x@m/'}}}",
            "b.yaml:1: install.repositories.cuda.url: found a user or a password in the address, wanted none: apt reads them from /etc/apt/auth.conf.d",
        ),
        (
            "install: {repositories: {cuda: {url: 'https://m/x?token=hunter2'}}}",
            "b.yaml:1: install.repositories.cuda.url: found 'https://m/x', wanted https://HOST/PATH, http://HOST/PATH or file:/PATH",
        ),
        (
            "install: {repositories: {toolkit: {url: ftp://m/}}}",
            "b.yaml:1: install.repositories.toolkit.url: found 'ftp://m/', wanted https://HOST/PATH, http://HOST/PATH or file:/PATH",
        ),
        (
            "install: {repositories: {toolkit: {key: k.gpg}}}",
            "b.yaml:1: install.repositories.toolkit.key: found 'k.gpg', wanted the path of a keyring file, from /",
        ),
        ("rdma: {required: true}", 'b.yaml:1: rdma.required: found true; write required: "yes"'),
        ("rdma:\n  required: false\n", 'b.yaml:2: rdma.required: found false; write required: "no"'),
        ("rdma: {required: on}", "b.yaml:1: rdma.required: found 'on'; write required: \"yes\""),
        (
            "rdma: {hcas: [mlx5_0, mlx5_1]}",
            "b.yaml:1: rdma.hcas: found the list ['mlx5_0', 'mlx5_1']; write one text, as NCCL_IB_HCA has it: hcas: \"=mlx5_0,mlx5_1\"",
        ),
        (
            "rdma: {hcas: '=mlx5_0, mlx5_1'}",
            'b.yaml:1: rdma.hcas: found \'=mlx5_0, mlx5_1\', wanted what NCCL_IB_HCA takes, such as "=mlx5_0,mlx5_1:1" or "^mlx5_bond_0", without blanks',
        ),
        ("rdma: {link_layer: RoCE}", "b.yaml:1: rdma.link_layer: found 'RoCE', wanted one of any, InfiniBand, Ethernet"),
        ("rdma: {rate_gbps: -1}", "b.yaml:1: rdma.rate_gbps: found -1, wanted 0 (any) or Gb/s of a port, such as 400"),
        ("rdma: {rate_gbps: 400Gb}", "b.yaml:1: rdma.rate_gbps: found the text '400Gb', wanted a whole number"),
        ("rdma: {netdev_mtu: 67}", "b.yaml:1: rdma.netdev_mtu: found 67, wanted 0 (any) or bytes from 68 to 65535, such as 9000"),
        ("rdma:\n  active_mtu: 9000\n", "b.yaml:2: rdma.active_mtu: found 9000, wanted 0 (any) or one of 256, 512, 1024, 2048, 4096"),
        ("rdma: {traffic_class: 256}", "b.yaml:1: rdma.traffic_class: found 256, wanted 0 (any) to 255: four times the DSCP, such as 104"),
        ("rdma: {lossless_priority: 8}", "b.yaml:1: rdma.lossless_priority: found 8, wanted any, or a priority from 0 to 7"),
        ("rdma: {lossless_priority: high}", "b.yaml:1: rdma.lossless_priority: found the text 'high', wanted a whole number or one of any"),
        ("gpus:\n  cuont: 8\n", "b.yaml:2: gpus.cuont: unknown key; did you mean count?"),
        ("gpus: {ecc: enbled}", "b.yaml:1: gpus.ecc: found 'enbled', wanted one of any, enabled, disabled; did you mean enabled?"),
        (
            'driver:\n  version: "590.*"\n',
            'b.yaml:2: driver.version: "590.*" does not allow driver.install, which is "580": set driver.install as well ("" for none)',
        ),
        (
            'driver: {install: ">=580"}',
            'b.yaml:1: driver.install: found \'>=580\', wanted a branch like "580.*" or "580", or a version like "580.126.20"',
        ),
        (
            "toolkit: {version: '', install: latest}",
            'b.yaml:1: toolkit.install: found \'latest\', wanted a branch like "580.*" or "580", or a version like "580.126.20"',
        ),
        ("cuda: {install: 13-0}", 'b.yaml:1: cuda.install: "13-0" is no version of CUDA, such as "13.0": packages are named by it'),
        ("name: a\nname: b\n", "b.yaml:2: cannot read this YAML: found the key 'name' twice"),
        ("a: &x 1\nb: *x\n", "b.yaml:2: cannot read this YAML: found an alias, wanted plain values"),
        ("schema_version: 7\nnew: 1\n", 'b.yaml:1: schema_version is 7, wanted 1 or a text such as "1.6"'),
    ],
)
def test_a_mistake_names_file_line_and_key_and_how_to_write_it(write, tmp_path, text, sentence):
    assert told(write(text)) == (f"{tmp_path}/{sentence}",)


def test_everything_is_told_at_once_in_the_order_of_the_lines_of_each_file(write, tmp_path):
    write("gpus: {count: many}\nchecks:\n  gpu.xdi: {off: x}\n", "parent.yaml")
    path = write("extends: parent.yaml\ntoolkit: {version: newest}\nchecks:\n  gpu.lsot: {}\n  gpu.lost: {sverity: info}\nnvml: maybe\n")
    site = write("drivers: {}\n", "site.yaml")
    assert [re.sub(r": .*", "", one.removeprefix(f"{tmp_path}/")) for one in told(path, site)] == [
        "parent.yaml:1", "parent.yaml:3", "b.yaml:2", "b.yaml:4", "b.yaml:5", "b.yaml:6", "site.yaml:1",
    ]  # fmt: skip


def test_many_mistakes_are_counted(write):
    sentences = told(write("".join(f"key{number}: 1\n" for number in range(500))))
    assert len(sentences) == 21
    assert sentences[-1].startswith("and ")


def test_a_key_or_a_value_of_any_length_makes_a_short_sentence(write):
    (sentence,) = told(write(f"? {'k' * 100_000}\n: 1\n"))
    assert len(sentence) < 500
    (sentence,) = told(write(f"gpus: {{product: [{'v' * 100_000}]}}\n"))
    assert len(sentence) < 300
    (sentence,) = told(write(f"? {'k' * 200}\n: 1\n".replace("? ", "checks:\n  ? ").replace("\n: 1", "\n  : {off: x}")))
    assert len(sentence) < 300


@pytest.mark.parametrize(("listed", "codes"), [("[62, 94]", (62, 94)), ('"62, 94"', (62, 94)), ("[]", ()), ('""', ()), ('"62,"', (62,))])
def test_a_list_of_numbers_may_be_a_text_with_commas_as_before(write, listed, codes):
    from hostagent.engine.evaluate import params

    loaded = load_profile(write(f"checks: {{gpu.xid: {{params: {{ignore: {listed}}}}}}}\n"), site_file="")
    refuse_unknown_ids(CHECKS, loaded)
    (xid,) = (one for one in CHECKS if one.id == "gpu.xid")
    assert params(xid, loaded.profile.checks["gpu.xid"]).ignore == codes


@pytest.mark.parametrize("version", ["13.0", "580.126.20", "1.19.0"])
def test_a_version_alone_means_that_version(write, version):
    from hostagent.facts.version import satisfies

    loaded = load_profile(write(f'cuda: {{toolkit: "{version}"}}\n'), site_file="")
    assert satisfies(version, loaded.profile.cuda.toolkit)
    assert not satisfies(f"{version}.1", loaded.profile.cuda.toolkit)


@pytest.mark.parametrize(
    "rdma",
    [
        *('hcas: ""', 'hcas: "=mlx5_0,mlx5_1:1"', 'hcas: "^=mlx5_bond_0"', 'hcas: "^mlx5_"', "hcas: 'rocex98039b0300aabb00,bnxt_re0:2'", "hcas: rdmap16s27"),
        *("required: yes", 'required: "no"', "active_mtu: 4096", "netdev_mtu: 68", "netdev_mtu: 65535", "traffic_class: 106"),
        *("lossless_priority: 0", "lossless_priority: 7", "lossless_priority: any"),
    ],
)  # fmt: skip
def test_what_ports_can_have_is_no_mistake(write, rdma):
    assert mistake(write(f'schema_version: "1.2"\nrdma: {{{rdma}}}\n')) is None


@pytest.mark.parametrize(
    "url", ["", "https://m", "http://10.0.0.1:8080/x/", "file:/srv/x", "file:///srv/a@b/x", "https://m.example/a%20b/"]
)
def test_what_a_mirror_can_have_is_no_mistake(write, url):
    assert (
        mistake(write(f'install: {{repositories: {{cuda: {{url: "{url}", key: /srv/k.gpg}}}}, before: [[/bin/drain, ""], [sync]]}}\n'))
        is None
    )


@pytest.mark.parametrize("name", names())
def test_what_a_built_in_profile_installs_it_accepts(name):
    load_profile(name, site_file="")


@pytest.mark.parametrize(
    ("driver", "is_refused"),
    [
        ('version: "590.*", install: "590"', False),
        ('version: "590.*", install: "580"', True),
        ('version: "590.*", install: ""', False),
        ('version: "580.126.20", install: "580"', False),
        ('version: "580.126.20", install: "580.95.05"', True),
        ('version: ">=580.95,<580.126", install: "580"', False),
        ('version: "<580", install: "580"', True),
        ('version: ">=590", install: "580"', True),
        ('version: "", install: "470"', False),
        ('version: "580.*", install: "580.*"', False),
        ('version: "590.*", install: "580.*"', True),
        ('version: ">=580.95,<580.126", install: "580.*"', False),
        ('version: "<580", install: "580.*"', True),
        ('version: ">=580.95.05", install: "580.95"', False),
        ('version: "580.*", install: "58"', True),
    ],
)
def test_a_version_to_install_must_be_one_that_is_accepted(write, driver, is_refused):
    path = write(f"driver: {{{driver}}}\n")
    if is_refused:
        assert "does not allow driver.install" in told(path)[0]
    else:
        load_profile(path, site_file="")


keys = st.sampled_from(["a", "b", "gpu.xid", "7", "on", "x y"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "text", "5"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(keys, values, min_size=1, max_size=4))
@settings(deadline=None)
def test_every_value_of_a_file_has_the_line_that_it_stands_in(data):
    import yaml

    text = yaml.dump(data, default_flow_style=False, default_style='"')
    text = re.sub(r'!!\w+ "([^"]*)"', r"\1", text)  # numbers and words are plain
    lines = text.splitlines()

    def walk(value, path):
        line, scalar = found[path]
        if not isinstance(value, dict | list) and path:
            last = path[-1]
            assert str(last) in lines[line - 1] if isinstance(last, str) else lines[line - 1].lstrip().startswith("-")
            assert scalar in lines[line - 1]
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
            walk(inner, (*path, key))

    found = places(text.encode())
    walk(parse_yaml(text.encode()), ())


@given(st.dictionaries(st.sampled_from([*schema(Profile)["properties"], "nonsense"]), values, max_size=5))
@settings(deadline=None, max_examples=200)
def test_any_layer_loads_or_every_mistake_has_a_place(tmp_path_factory, data):
    import json

    path = tmp_path_factory.mktemp("any") / "b.yaml"
    path.write_text(json.dumps(data, indent=1))
    error = mistake(str(path))
    if isinstance(error, ProfileError):
        assert all(one.layer == str(path) and one.line >= 1 for one in error.places)
        assert plain(error.rest.profile)
    elif error:
        assert "found no profile" in error.message or "extends itself" in error.message or "no such file" in error.message
