"""Online CPUs with packages, cores and cpufreq policies (Linux kernel, ABI/stable/sysfs-devices-system-cpu).

A host may have thousands of CPUs, so there is no read per CPU, but one per package and one per core, the latter only with SMT.
"""

# Read once per package (package_cpus_list, before Linux 5.3 core_siblings_list), once per core (thread_siblings_list of its first
# CPU) unless smt/active is 0, and once per cpufreq policy; the CPUs of a policy only if there are fewer policies than CPUs (else
# policyN governs CPU N).

import re

from hostagent.core.parsing import parse_number, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, need, then
from hostagent.facts.cpulist import LIMIT, format_cpulist, parse_cpulist
from hostagent.facts.topology import CpuGovernor, CpuPackage
from hostagent.host.source import Source
from hostagent.host.values import line_in, number_in

CPUS = "/sys/devices/system/cpu"
_POLICIES = f"{CPUS}/cpufreq"
_POLICY = re.compile(r"policy([0-9]{1,5})", re.ASCII)
_CPU = re.compile(r"cpu([0-9]{1,5})", re.ASCII)
_VENDOR = re.compile(r"cpu:type:x86,ven([0-9A-F]{4})fam", re.ASCII)
_ARM = "cpu:type:aarch64"
#: Linux kernel, arch/x86/include/asm/processor.h, X86_VENDOR_*.
_VENDORS = {"0000": "intel", "0002": "amd"}
#: Kernels before 5.3 have only the second name.
_OF_PACKAGE = ("package_cpus_list", "core_siblings_list")


def cpulist(text: str, where: str) -> "tuple[int, ...] | Unread":
    try:
        return parse_cpulist(text)
    except ValueError as error:
        return Unread("error", f"{where}: {error}")


def list_in(source: Source, path: str) -> "tuple[int, ...] | Unread":
    """The numbers in a file with a CPU list."""
    return then(line_in(source, path), lambda text: cpulist(text, path))


def vendor(source: Source) -> "str | Unread":
    """Of the CPUs. /proc/cpuinfo has it too, and interrupts each CPU to write its clock."""
    path = f"{CPUS}/modalias"
    return then(source.text(path, keep=Keep("head", ("32",))), parse_modalias)


def parse_modalias(text: str) -> "str | Unread":
    """The vendor in the kernel's name for the kind of CPU (Linux kernel, drivers/base/cpu.c and file2alias.c).

    >>> parse_modalias("cpu:type:x86,ven0002fam0019mod0001:feature:,0000,0001"), parse_modalias("cpu:type:aarch64:feature:,0000")
    ('amd', 'arm')
    """
    if text.startswith(_ARM):
        return "arm"
    match = _VENDOR.match(text)
    return _VENDORS.get(match[1], "other") if match else Unread("error", f"{CPUS}/modalias begins with {text[:32]!r}, wanted a vendor")


@stops_at_unread
def online(source: Source) -> tuple[int, ...]:
    """The online CPUs. Kernels before 2.6.29 and some emulated trees have no such list: then by their directories."""
    path = f"{CPUS}/online"
    listed = list_in(source, path)
    if not isinstance(listed, Unread) or listed.why != "absent":
        return need(listed)
    numbers = (int(found[1]) for name in need(source.listdir(CPUS)) if (found := _CPU.fullmatch(name)))
    cpus = sorted(_sane(number, CPUS) for number in numbers)
    return tuple(cpu for cpu in cpus if need(line_in(source, f"{CPUS}/cpu{cpu}/online", absent="1")) != "0")


@stops_at_unread
def packages(source: Source, cpus: "tuple[int, ...] | Unread") -> tuple[CpuPackage, ...]:
    """By id. CPUs with one package id but different lists (faulty firmware) are one package."""
    found: dict[int, set[int]] = {}
    seen: set[int] = set()
    for cpu in need(cpus):
        if cpu not in seen:
            siblings = _siblings(source, cpu)
            number = need(number_in(source, f"{CPUS}/cpu{cpu}/topology/physical_package_id"))
            found.setdefault(number, set()).update(siblings, (cpu,))
            seen.update(siblings, (cpu,))
    running = set(need(cpus))
    return tuple(CpuPackage(number, format_cpulist(found[number] & running)) for number in sorted(found))


def _siblings(source: Source, cpu: int) -> tuple[int, ...]:
    for name in _OF_PACKAGE:
        listed = list_in(source, f"{CPUS}/cpu{cpu}/topology/{name}")
        if not isinstance(listed, Unread) or listed.why != "absent":
            return need(listed)
    return (cpu,)


@stops_at_unread
def cores(source: Source, cpus: "tuple[int, ...] | Unread") -> tuple[str, ...]:
    """The CPUs of each core, by the first of them."""
    running = need(cpus)
    if line_in(source, f"{CPUS}/smt/active", absent="") == "0":  # no core has two online CPUs
        return tuple(map(str, running))
    found: list[str] = []
    seen: set[int] = set()
    online_here = set(running)
    for cpu in running:
        if cpu not in seen:
            listed = need(list_in(source, f"{CPUS}/cpu{cpu}/topology/thread_siblings_list"))
            siblings = {cpu, *(one for one in listed if one in online_here and one not in seen)}
            seen |= siblings
            found.append(format_cpulist(siblings))
    return tuple(found)


@stops_at_unread
def governors(source: Source, cpus: "tuple[int, ...] | Unread") -> tuple[CpuGovernor, ...]:
    """By the first CPU of each policy; none if the kernel does not control frequencies.

    With as many policies as CPUs, each governs the CPU in its name; else each policy's list is read.
    """
    names = need(source.listdir(_POLICIES, absent=()))
    policies = sorted(int(found[1]) for name in names if (found := _POLICY.fullmatch(name)))
    alone = policies == list(need(cpus)) if policies else True
    return tuple(
        CpuGovernor(
            str(number) if alone else _policy_cpus(source, number),
            line_in(source, f"{_POLICIES}/policy{number}/scaling_governor"),
        )
        for number in policies
    )


def _policy_cpus(source: Source, number: int) -> str:
    """``affected_cpus`` of a policy: its online CPUs, separated by spaces."""
    path = f"{_POLICIES}/policy{number}/affected_cpus"
    words = need(line_in(source, path)).split()
    return format_cpulist(_sane(need(parse_number(word, path)), path) for word in words)


def _sane(cpu: int, where: str) -> int:
    """A number within the limit of `parse_cpulist`."""
    return cpu if 0 <= cpu < LIMIT else need(Unread("error", f"{where} has CPU {cpu}, wanted one below {LIMIT}"))
