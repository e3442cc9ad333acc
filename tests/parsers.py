"""Every parser of what a host answers, found by its name, and what to feed it: for tests that throw anything at all of them."""

import importlib
import inspect
import pkgutil
import typing

import hostagent.domains
import hostagent.host
from hostagent.core import yamlfile
from hostagent.domains.kubelet.placement import parse_shape, pods_in
from hostagent.domains.nccl.conf_text import conf_text
from hostagent.domains.nccl.environment import derive
from hostagent.domains.nccl.hca_list import parse_hcas
from hostagent.domains.nccl.logs.chunks import blocks
from hostagent.domains.nccl.logs.explanation import Job
from hostagent.domains.nccl.nearest import nearest, written
from hostagent.domains.nccl.node import parse_node
from hostagent.domains.nccl.quoting import FORMS
from hostagent.domains.nccl.settings import parse_conf
from hostagent.domains.nccl.tables import variables
from hostagent.domains.nccl.tuning import WORDS, read
from hostagent.domains.nccl.values import fault
from hostagent.facts import cpulist
from hostagent.install.offers import apttext, rpmtext, words
from hostagent.outputs.job_environment import fitted, render_environment
from hostagent.outputs.job_log import render_explanation
from tests.nccl_nodes import finding, report, setting


def parse_manifest(data: bytes):
    """A pod out of a file, as ``--pod FILE`` reads it."""
    return pods_in(yamlfile.parse_foreign_yaml(data), "p")


def parse_nccl_conf(text: str):
    """A conf file of NCCL, as the oldest and the newest version read it."""
    return [list(parse_conf(text, version)) for version in ((2, 18, 1), (2, 32, 3))]


def parse_nccl_hcas(text: str):
    """NCCL_IB_HCA, as the oldest and the newest version read it."""
    return [parse_hcas(text, version) for version in ((2, 18, 1), (2, 32, 3))]


def parse_nccl_tuning(text: str):
    """NCCL_ALGO and NCCL_PROTO, as an old and the newest version read them."""
    return [read(name, text, version) for name in WORDS for version in ((2, 18, 1), (2, 32, 3))]


def parse_nccl_values(text: str):
    """What is wrong with it as a number, as a word and as a path."""
    known = variables.variables()
    return (
        [fault(known[name], text, (2, 28, 9)) for name in ("NCCL_IB_TIMEOUT", "NCCL_DEBUG", "NCCL_TOPO_FILE")],
        written(text),
        nearest(text),
    )


def parse_nccl_conf_kept(data: bytes):
    """What a tape keeps of it."""
    return conf_text(data, (), str)


def parse_nccl_log(data: bytes):
    """A job's log, as ``hostagent nccl explain`` reads it, and what it says of it."""
    job = Job()
    for block in blocks([data]):
        job.read("log", block)
    return render_explanation(job.explain(), "text")


def parse_nccl_report(text: str):
    """A saved report with this text in the place of names, addresses and values, and what jobs are given by it, in every form."""
    made = report(
        text,
        ifname=text,
        settings=[setting("NCCL_TOPO_FILE", text), setting(text, text)],
        findings=[finding(headline=text, severity="info")],
    )
    fabric = made["facts"]["fabric"]
    fabric["nics"][1]["addresses"], fabric["rdma"][0]["name"], fabric["rdma"][1]["netdev"] = [text], text, text
    derived = derive([parse_node(one, text) for one in (made, report())], (2, 27, 3))
    return [render_environment(fitted(derived, form), form) for form in FORMS]


def parse_apt_simulation(text: str):
    return apttext.parse_simulation(text, "amd64")


def parse_dnf_table(text: str):
    return rpmtext.parse_table(text, {})


def parse_apt_fault(text: str):
    """What apt or dnf says of repositories, as it is told."""
    return words.worst(map(words.fault_of, apttext.messages(text))), words.fault_of(text), apttext.refusal(text, text)


#: They take more than a text: below they are called with all of it.
WITH_MORE = {"nccl.hca_list.parse_hcas", "nccl.levels.parse_level", "nccl.node.parse_node", "nccl.settings.parse_conf"}


def _parsers():
    """Every ``parse_*`` of domains and host: a new one is tried without being listed."""
    for package in (hostagent.domains, hostagent.host):
        for entry in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(entry.name)
            for name, function in vars(module).items():
                place = f"{entry.name.removeprefix(package.__name__)[1:]}.{name}"
                if (
                    name.startswith("parse_")
                    and inspect.isfunction(function)
                    and function.__module__ == module.__name__
                    and place not in WITH_MORE
                ):
                    yield place, function
    for module in (apttext, rpmtext):
        for name in (
            "parse_policy",
            "parse_records",
            "parse_uris",
            "parse_repoquery",
            "parse_repositories",
            "parse_tdnf_list",
            "parse_versions",
        ):
            if hasattr(module, name):
                yield f"offers.{name}", getattr(module, name)
    yield "offers.parse_zypper_search", rpmtext.parse_zypper_search
    yield "offers.parse_zypper_repositories", rpmtext.parse_zypper_repositories
    yield "offers.parse_zypper_summary", rpmtext.parse_zypper_summary
    yield "offers.parse_apt_simulation", parse_apt_simulation
    yield "offers.parse_dnf_table", parse_dnf_table
    yield "offers.parse_apt_fault", parse_apt_fault
    yield "facts.cpulist.parse_cpulist", cpulist.parse_cpulist
    yield "facts.cpulist.parse_cpumap", cpulist.parse_cpumap
    yield "nccl.parse_conf", parse_nccl_conf
    yield "nccl.parse_hcas", parse_nccl_hcas
    yield "nccl.parse_conf_kept", parse_nccl_conf_kept
    yield "nccl.parse_tuning", parse_nccl_tuning
    yield "nccl.parse_values", parse_nccl_values
    yield "placement.parse_shape", parse_shape
    yield "placement.parse_manifest", parse_manifest
    yield "nccl.parse_nccl_log", parse_nccl_log
    yield "nccl.parse_nccl_report", parse_nccl_report
    yield "yamlfile.parse_yaml", yamlfile.parse_yaml
    yield "yamlfile.parse_foreign_yaml", yamlfile.parse_foreign_yaml


PARSERS = dict(_parsers())

#: Pieces of real evidence: random text alone rarely gets past a parser's first line.
PIECES = [
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.142  Release Build", "Package: nvidia-dkms-580-open\n", "Version: 1:2-3\n",
    "Status: install ok half-configured\n", "[plugins]\n", "version = 2\n", 'imports = ["/etc/*.toml"]\n', "[Unit]\n", "After=multi-user.target\n",
    "extra/nvidia.ko.zst: kernel/x.ko", "NVRM: Xid (PCI:0000:1b:00): 79, pid=1", "blacklist nouveau\n", "Pin: version 580*\n", "Pin-Priority: 1001\n",
    "deb [signed-by=/x] ://user:pw@h/ubuntu noble main\n", "cdiVersion: 0.5.0\n", "kind: nvidia.com/gpu\n", '{"a": [1, {"b": null}]}', "\0", "\x1b[31m",
    '{"policyName":"static","defaultCpuSet":"0-3","entries":{"p":{"c":"1"}},"checksum":1}', 'KUBELET_EXTRA_ARGS="--config=/a ${B}"\n', "\x0a\x04\x0a\x02\x0a\x00",
    '{"Data":{"PodDeviceEntries":[{"ResourceName":"a","DeviceIDs":{"0":["b"]}}],"RegisteredDevices":{"a":["b"]}}}', '{"kubeletconfig":{"maxPods":1}}',
    "400 Gb/sec (4X NDR)", "4: ACTIVE", "0xffff", "9803:9b03:00aa:bb00", "Global tclass=106\ntclass=96 src ip=10.0.0.1\n", "mlx5_0 hca_handle=max hca_object=5\n", "DEVTYPE=bond\n",
    "20010db8000000000000000000000001 02 40 00 80     eth0\n", "  |-- 10.0.0.1\n     /32 host LOCAL\n", "Local:\n  +-- 10.0.0.0/24 2 0 2\n", "26:3",
    "eth0\t0002010A\t0302010A\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n", "   0: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 40960\n", "32768 60999",
    "  eth0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", "\x10\x00\x03\x00eth0\0", "0000:0000:0000:0000:0000:ffff:0a00:0101",
    "node1:7:8 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA", "n:7:8 [0] x.cc:1 NCCL WARN ", "node2:7:8 [0] NCCL INFO Using network Socket\n",
    "n:7:8 [0] NCCL INFO comm 0x5 rank 0 nRanks 2 nNodes 2 localRanks 1", "NCCL version 2.21.5+cuda12.4\n", "ncclInternalError", "status=IBV_WC_RETRY_EXC_ERR(12)",
    "NCCL_SOCKET_IFNAME==eth0\n", "HOME=/home/a\0USER=a\0", "export NCCL_IB_HCA=$'a\\x41' # b\n", 'export NCCL_NET="a\\"', "NCCL_TOPO_FILE=/home/a/ghp_0123456789abcdef\n",
    "=", ":", "\n", "\n\n", '"', "'", "[[", "]]", "{", "}", ",", " " * 50, "9" * 400, "-1", "\ufffd", "0x", "..", "/", "~", "name=",
]  # fmt: skip

#: What a parser looks for, begins with, ends with or stumbles over, to be repeated without end.
UNITS = [
    # nothing, and what separates
    " ", "\t", "\n", "\n\n", "\n \n", " \n", "\n ", "\n\t", "\r\n", "\\\n", "\x85", "\u2028", "\0", "\ufeff", "\U0001f600", "x", "9", "-", ".", ":", "::", ": ", ": \n", "=", "=\n", "a=", ";", ",", "/", "//", "|", "*",
    "?", "~", "%", "#", "# \n", "'", '"', '"",', '\\"', "\\", "\\\\", "\\x0a", "\\u0041", "a.", "a-", "1-", "1.", "1_", "1e5,", "://:", "{1}", "<6>[",
    # brackets and lists of TOML, YAML and JSON
    "[", "]", "[]", "[],", "{", "}", "{}", "{},", "[[a.", "[a.", "[a]\n", "[[a]]\n", "[a.b.c]\n", "a = 1\n", "a.b=1\n", "a={", "a=[", "a='''", 'a="""', '"a":', '{"a":', "[1,", "[ ", "a, ", "{a: ",
    "- ", "- - ", "- a\n", "-\n", "? a\n", "? ", "a: ", "a:\n ", "a: b\n", "&a ", "*a ", "- &a b\n- *a\n", "!a ", "!!str ", "---\n", "%YAML 1.1\n", "a: |\n", ">\n", '["a=", ',
    # kubelets
    "0-1,", "1-0,", "1h", "1.5s", "-1m", "1Gi", "e1", "<<: *a\n", "- &a {<<: *a}\n", "maxPods: 1\n", "featureGates: {a: true}\n", "--a=b", "-v", '"kind":1,', "kind: KubeletConfiguration\n",
    # keyrings
    "-----BEGIN PGP A-----:\n", "-----BEGIN PGP A-----\n", "-----END", "-----BEGIN PGP A-----\n\nAAAA\n-----END PGP A-----\n", "\n=", "AAAA\n", "\x01",
    # packages
    "Package: nvidia-x\n", "Package: nvidia-x\nStatus: install ok installed\nVersion: 1\n\n", "Package: a\nPin: version 1\nPin-Priority: 1001\n\n", "URIs: nvidia\nSuites: a\n", "deb [", "deb [a=b] ", "deb nvidia a\n", "# deb ",
    "Package: a\nArchitecture: b\nAuto-Installed: 1\n\n", "Package: a\n", "[a]\nbaseurl=https://u:p@m/x?t\n gpgkey=b\n", "baseurl=", "\n https://m/", "a@", '"a.b" = { reason = "Dependency" }\n', "drivers: {nvidia: {version: 1}}\n",
    "nvidia-a\t1\t2\ta\tb\tc\n", "*nvidia*580*\n", "nvidia-driver-3:580.95.05-1.el9.*\n", "solvable_name: a\n", '[[packages]]\nname="a"\n', "[a]\nname=b\nstate=enabled\nstream=c\n", 'A::B "c"; ', "A { ", "} ", "/* ", "*/", "#clear a;",
    # answers of package managers
    "a:\n", "     1 500\n        500 file:/a ./ Packages\n", "Inst a [1] (2 X [amd64])\n", "Inst a (", "Inst a [", "'a' b 1\n", "E: a\n b\n", "W: file:/a", "mirror", "Upgrading:\n a x86_64 1 b\n", " replacing a 1\n",
    "a\t1\tx86_64\tb\t1\t1\n", "Repo-id : a\nRepo-baseurl : b\n", "<solvable kind='package' name='a'/>", "<a>",
    # the kernel and its modules
    "NVRM: Xid (PCI:0000:1b:00): 13, a\n", "NVRM: Xid (", "NVRM: GPU 0000:01:00.0: ", "NVRM: ", "Lockdown: ", "6,1,1,-;NVRM: Xid (PCI:0000:1b:00): 13\n", "<6>[    1.000000] NVRM: Xid (PCI:0000:1b:00): 13\n",
    '{"MESSAGE":"a","SYSLOG_FACILITY":"0","__MONOTONIC_TIMESTAMP":"1"}\n', "extra/nvidia.ko.zst: ", "a/nvidia.ko:\n", "options nvidia a=b\n", "options nvidia ", "saved_entry=a\n", "linux vmlinuz-1\n", "195 nvidia\n",
    # units, logs, settings
    "[Unit]\n", "After=a\n", "After=a \\\n", "a=\\\n", "DefaultLimitMEMLOCK=1\n", "Max locked memory 1 ", "/dev/sda1 / ext4 rw 0 0\n", "a 1 2 00010000 3 4 5 /run/a\n", "error: a\n", "*** ", "make.log for a for kernel b ",
    "--a=b ", "$A ", "${A}", '--a="', "\x0a\x02", "\x08\x80", '{"entries":{"p":', '"checksum":1,', "kubelet-arg+: a\n",
    "Fabric Manager version 1\n", "[ERROR] a\n", "btime 1\n", "SELINUX=enforcing\n", "version ", "libnvidia-container.so.1.", "10.0.0.1\n", "Result=a\n",
    # networks and RDMA devices
    "|-- 10.0.0.1\n", "|-- 10.0.0.1\n /32 host LOCAL\n", "Local:\n", "+-- 10.0.0.0/8 2 0 2\n", "20010db8000000000000000000000001 02 40 00 80 eth0\n", "eth0\t0002010A\t0302010A\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n",
    "0: 0100007F:733C 00000000:0000 0A 0:0 0:0 0 0 0 9\n", "eth0: 0 0\n", "DEVTYPE=bond\n", "Global tclass=1\n", "tclass=1\n", "mlx5_0 hca_handle=2 hca_object=max\n", "hca_handle=", "4X ", "ffff:", "0x", "26:3 ", "1-2 ", "\x08\0\x01\0", "\x04\0\0\0", "\x10\0\0\0",
    # logs of NCCL
    "NCCL INFO ", "n:7:8 [0] NCCL WARN a\n", "n:7:8 [0] NCCL INFO ", ":7:8 [0] ", "n:7:8 [0] NCCL INFO Using network IB", "NCCL INFO Channel 0 : 0 -> 1 [send] via NET/IB/0\n", " via NET/", "CCL version ", "a.cc:1 -> 3 ",
    "NCCL INFO NET/IB : Using [0]a:1/IB ", "[0]a:1/IB ", "internal error ", " [repeated ",
    # settings of NCCL, and environments
    "NCCL_DEBUG=INFO\n", "NCCL_DEBUG=", "NCCL_X=1\0", "NCCL_", "export NCCL_NET=a\n", "export NCCL_NET=", "export ", "$'", "'a'", '"a"', "\\'", "$'\\x41'", "/home/a", "/a:", "~/", "USER=a\n", "ghp_01234567",
    # topology
    "0-3,", "0-65535,", "f,", "ffffffff,", "10 ", "MemTotal: ", "Node 0 MemTotal: 1 kB\n", "/0000:16:01.0", "/pci0000:16",
]  # fmt: skip

#: A beginning that waits for an end, much of one thing, and something that is no end.
UNENDED = [
    ("n:7:8 [0] NCCL INFO NET/IB : Using ", "[0]a:1/IB ", "; OOB a:1<0>"), ("n:7:8 [0] NCCL INFO Channel 0 : 0 -> 1 [send] via NET/", "a ", "/0"), ("NCCL WARN ", "a", "\n"), ("", "n:7:8 [0] NCCL INFO NET/x", "\n"),
    ("NCCL_NET=", "/home/a", "\0"), ("export NCCL_NET=", "'a'", "\n"), ("export NCCL_NET=$'", "\\x41", "'"), ('export NCCL_NET="', "\\$", "\n"), ("USER=a\nHOME=/a\nNCCL_TOPO_FILE=", "/a", "\n"),
    ("export NCCL_NET=", "a:", "~"),
    ("[", "[],", "x"), ("[", "1,", "1]"), ("[", "9", "]"), ("{", '"a":1,', "}"), ('["', "a", '"]'), ('["', "\\u0041", '"]'), ("[", "1e1,", "x"), ("[1.", "9", "]"),
    ("a: ", "[ ", "a, a"), ("a: [", "a, ", "x"), ('a: "', "\\\n", '"'), ("a: '", "''", "x"), ("a: |\n", " a\n", "x"), ("- ", "a ", ":"), ("&", "a", " x"), ("!<", "a", ">"), ("? ", "\n", "x"),
    ("a = ", "[", "1"), ("a = [", "1,\n", "x"), ('a = "', "\\n", ""), ('a = """', "\n", '"'), ("a = '", "a", "\n"), ("a = ", "9", "x"), ("a = {", "b=1,", "x"), ("[", "a", "\n"), ("", "#", "\n"),
    ("-----BEGIN PGP A-----\n", "A: b\n", ""), ("-----BEGIN PGP A-----\n\n", "AAAA\n", ""), ("-----BEGIN PGP A-----\n\n", "AAAA\n", "-----END"), ("-----BEGIN PGP ", "A ", "x"), ("\x01\x01", "\x01", ""),
    ("Package: nvidia-a\nStatus: ", " ", "x"), ("Package: nvidia-a\n", "a: b\n", ""), ("Package: nvidia-a\n", " a\n", ""), ("Package: ", "a ", "\nPin: version 1\nPin-Priority: 1001"), ("deb [", "a ", ""), ("deb ", " ", ""), ("URIs:", " nvidia", "\nSuites: a"),
    ("A { ", "B { ", "x"), ('A "', "a", ""), ("/*", "*", ""), ("a ", '"b" ', ";"), ("a", "-1", "x"), ("*", "580", "x"), ("a-", "9", "-"), ("Pin: version ", "*", ""),
    ("NVRM: Xid (PCI:0000:1b:00", " ", "): 1"), ("NVRM: Xid (PCI:0000:1b:00)", " ", ": 1"), ("NVRM: ", "a", ": x"), ("NVRM: GPU", "1", " x"), ("nvidia-nvswitch", "0", "x"), ("a", "-", ": Loading"), ("Lockdown: ", ": unsigned", "x"), ("6,", "1", ",1,-;a"),
    ("6,1,1,-;", "\\x0a", "\n"), ("<6>[", " ", "1.000000] a"), ('{"MESSAGE":[', "1,", '1],"SYSLOG_FACILITY":"0","__MONOTONIC_TIMESTAMP":"1"}'), ("", "a/", "nvidia.ko:"), ("nvidia.ko.", "a", ":"), ("options nvidia ", "a=b ", ""), ("options nvidia", "\\\n", ""),
    ("[Unit]\nAfter=", "a \\\n", "b"), ("[", "]", "x"), ("DKMS make.log for ", "a", " for kernel "), ("", " ", "error:"), ("a:", " ", "error"), ("version:", " ", ""), ("Result=", "a", "\nExecMainExitTimestampMonotonic=1"), ("libnvidia-container.so.1.", "1.", ""),
    ("Local:\n", "|-- 10.0.0.1\n", "x"), ("|-- 10.0.0.1\n", " ", "/32 host LOCAL"), ("400 Gb/sec (", "4X ", ""), ("4: ", "A ", "1"), ("0x", "f", "g"), ("Global tclass=", "1", "x"), ("mlx5_0", " hca_handle=1", "x"), ("0: 0100007F:733C", " ", "0A"), ("eth0", "\t", "0"),
    ("INTERFACE=a\n", "DEVTYPE=a\n", "x"), ("0000:", "0000:", "ffff"),
    ("0-", "9", ","), ("1.", "9", "Gi"), ("1e", "9", ""), ("1", "0", "Ei"), ("0.", "0", "1n"), ("1.", "0", "h"), ("a: &a {b: 1}\nc: {", "<<: *a, ", "}\n"), ("a: &a [", "1, ", "]\nb: *a\n"), ('{"kind":"a",', '"b":{"c":[1.5]},', '"d":1}'),
    ("NVRM version: ", " ", "x"), ("NVRM version: NVIDIA", " a", ""), ("Max locked memory", " ", "1"), ("0: 1 1 00010000 1 1 1 ", "/", ""), ("/dev/sda ", "/", " ext4"), ("/dev/sda1 ", "\\040", " ext4 rw"), ("lib.so.", "1.", "x"), ("SELINUX=", " ", ""),
]  # fmt: skip


def repeated(start, unit, end, size):
    """A text of about `size` characters."""
    return start + unit * max(1, size // len(unit)) + end


def arguments(function, text, unit):
    """Keyword arguments that feed `text` to a parser; of one that takes several texts, as one, as its lines, and as many units.

    None where a parser takes what no text can be made into.
    """
    hints = typing.get_type_hints(function)
    found = {}
    for parameter in inspect.signature(function).parameters.values():
        kind = hints.get(parameter.name)
        values = _values(kind, text, unit) if not found else _OTHERS.get(parameter.name, [""] if kind is str else None)
        if values is not None:
            found[parameter.name] = values
        elif parameter.default is inspect.Parameter.empty:
            return []
    if not found:
        return []
    first, *others = found
    return [{first: value, **{name: found[name][0] for name in others}} for value in found[first]]


#: What stands beside the text.
_OTHERS = {"nodes": [2], "code": [145], "module": ["nvidia"], "key": ["DefaultLimitMEMLOCK"], "path": ["/"], "sonames": [("libcuda.so.1",)]}


def _values(kind, text, unit):
    if kind is str:
        return [text]
    if kind is bytes:
        return [text.encode("utf-8", "surrogateescape")]
    if typing.get_args(kind)[:1] == (str,):
        return [(text,), tuple(text.splitlines()), (unit,) * (len(text) // (len(unit) + 7))]
    return None
