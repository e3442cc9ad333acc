"""NCCL's settings by precedence: the environment, then its files; each sets only what is not set.

Source: NVIDIA/nccl, src/misc/param.cc (initEnvFunc, setEnvFile); the library itself agrees on generated environments and files
(tests/real/test_libnccl.py). An env plug-in (NCCL_ENV_PLUGIN, from 2.28 on) may answer otherwise; no library here can say.
"""

# Asked of 26 libraries (2.18.1 to 2.32.3; `tables/changes.py`): NCCL_CONF_FILE from 2.23.4; `#` is a comment only from
# 2.26.2 (before it set a variable named "#…"); $HOME and no `\r` from 2.30.3. Spaces around NCCL_DEBUG's word are trimmed in
# 2.30.7, not in 2.28.9.

from collections.abc import Iterator, Mapping

from hostagent.core.frozen import frozen
from hostagent.domains.nccl.tables.changes import COMMENTS, CONF_FILE, CUT, HOME_VARIABLE, Version

ENVIRONMENT = "environment"
SYSTEM_FILE = "/etc/nccl.conf"


@frozen
class Setting:
    """One value for a name, from one place."""

    name: str
    value: str
    origin: str  # "environment", or the path of a file
    line: int  # of the file, from 1; 0 of the environment
    wins: bool  # NCCL takes it; others of this name are ignored


def conf_files(environment: Mapping[str, str], account_home: str, version: Version) -> tuple[str, ...]:
    """The files that NCCL reads, in order; `account_home` is the home in passwd ("" where there is no entry).

    >>> conf_files({"HOME": "/home/a"}, "/root", (2, 28, 9)), conf_files({"HOME": "/home/a"}, "/root", (2, 30, 7))
    (('/root/.nccl.conf', '/etc/nccl.conf'), ('/home/a/.nccl.conf', '/etc/nccl.conf'))
    >>> conf_files({"NCCL_CONF_FILE": "/job/nccl.conf"}, "/root", (2, 23, 4))
    ('/job/nccl.conf', '/etc/nccl.conf')
    """
    named = environment.get("NCCL_CONF_FILE", "") if version >= CONF_FILE else ""
    if named:
        return (named, SYSTEM_FILE)
    if version >= HOME_VARIABLE:
        return (f"{environment['HOME']}/.nccl.conf", SYSTEM_FILE) if "HOME" in environment else (SYSTEM_FILE,)
    return (f"{account_home}/.nccl.conf", SYSTEM_FILE) if account_home else (SYSTEM_FILE,)


def settings(environment: Mapping[str, str], files: Mapping[str, str], account_home: str, version: Version) -> tuple[Setting, ...]:
    r"""Every value for every name, in the order in which NCCL meets them. `files` are texts by path; one that is missing there is not read.

    >>> found = settings({"NCCL_DEBUG": "INFO"}, {"/etc/nccl.conf": "NCCL_DEBUG=WARN\nNCCL_NET=IB\n"}, "/root", (2, 28, 9))
    >>> [(one.name, one.value, one.line, one.wins) for one in found]
    [('NCCL_DEBUG', 'INFO', 0, True), ('NCCL_DEBUG', 'WARN', 1, False), ('NCCL_NET', 'IB', 2, True)]
    """
    seen = set(environment)
    found = [Setting(name, value, ENVIRONMENT, 0, wins=True) for name, value in environment.items()]
    for path in conf_files(environment, account_home, version):
        for name, value, line in parse_conf(files.get(path, ""), version):
            found.append(Setting(name, value, path, line, wins=name not in seen))
            seen.add(name)
    return tuple(found)


def winning(found: "tuple[Setting, ...]") -> dict[str, str]:
    r"""The settings in effect.

    >>> winning(settings({}, {"/etc/nccl.conf": "A=1\nA=2\n"}, "", (2, 28, 9)))
    {'A': '1'}
    """
    return {one.name: one.value for one in found if one.wins}


def parse_conf(text: str, version: Version) -> Iterator[tuple[str, str, int]]:
    r"""(name, value, line) of a conf file. Nothing is trimmed: " A" is another name than "A". Names beyond 1023 bytes are garbage.

    >>> list(parse_conf("# NCCL_NET=IB\nNCCL_NET=Socket #x\n NCCL_NET=IB\nNCCL_SOCKET_IFNAME==eth0\nNCCL_NET\n", (2, 28, 9)))
    [('NCCL_NET', 'Socket #x', 2), (' NCCL_NET', 'IB', 3), ('NCCL_SOCKET_IFNAME', '=eth0', 4)]
    """
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#") and version >= COMMENTS:
            continue
        whole = line.removesuffix("\r") if version >= HOME_VARIABLE else line
        name, equals, value = whole.split("\0", 1)[0].partition("=")
        if name and equals:
            yield name[:CUT], value[:CUT], number
