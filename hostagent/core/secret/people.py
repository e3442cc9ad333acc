"""Removes names of people from paths: those below the usual home directories, and those on a list."""

import re
from collections.abc import Callable, Collection

#: Also systemd's names for mounts of homes. Not /home/kubernetes, where GKE keeps the driver.
PERSON = re.compile(
    r"(?:(?<=/home/)|(?<=/[uU]sers/)|(?<=\bhome-))(?!kubernetes\b|dir\b|page\b)"
    r"[^/\s\"':,;\\\[\]{}()]+?(?=\.mount|\.automount|[/\s\"':,;\\\[\]{}()]|$)"
    r"|(?<=/var/spool/mail/)[\w.-]+|(?<=~)[a-z][\w.-]{0,31}(?=/)|(?<=/run/user/)\d+|(?<=\buser-)\d+(?=\.slice)"
)
#: Placeholder for a person in a report.
PLACEHOLDER = "USER"
#: Pseudonym of a person on a tape.
CALLED = re.compile(r"user-[0-9a-f]{6}(?![\w-])")
_PATH = re.compile(r"/[^\s\"':,;=\\\[\]{}()]+")
#: No user has a directory of its own name below these.
SYSTEM = frozenset({"usr", "etc", "bin", "sbin", "lib", "lib32", "lib64", "boot", "dev", "proc", "sys"})
#: Accounts of no person, with names that directories have, too.
_SYSTEM_ACCOUNTS = frozenset(
    (
        "", "root", "nobody", "daemon", "home", "users", "data", "lib", "lib64", "bin", "share", "opt", "srv", "mnt", "tmp", "run", "var",
        "usr", "ubuntu", "debian", "centos", "rocky", "ec2-user", "admin", "user", "cuda", "nccl", "nvidia", "amazon", "aws", "google",
        "azure", "gib", "kubelet", "kubernetes", "docker", "containerd", "slurm", "munge", "conda", "python", "ray", "mpi", "openmpi",
        "ompi", "hostagent", "venv", "workspace", "work", "app", "job", "jobs", "scratch", "lustre", "project", "projects",
    )
)  # fmt: skip
_NAME = re.compile(r"[\w.@+-]{1,64}")


def is_person(name: str) -> bool:
    """Whether an account may be a person's.

    >>> is_person("alice"), is_person("root"), is_person("nvidia")
    (True, False, False)
    """
    return name.lower() not in _SYSTEM_ACCOUNTS and bool(_NAME.fullmatch(name))


def without_people(text: str, people: Collection[str], called: Callable[[str], str] = lambda _: PLACEHOLDER) -> str:
    """`text` with paths without names of people: those of `people`, of home directories, and pseudonyms of a tape.

    >>> without_people("/home/bob/x:/scratch/alice/lib:/usr/lib/alice:/data/user-012345", ("alice",))
    '/home/USER/x:/scratch/USER/lib:/usr/lib/alice:/data/USER'
    """
    text = PERSON.sub(lambda seen: called(seen[0]), text)
    if not people and "user-" not in text:
        return text

    def named(seen: "re.Match[str]") -> str:
        parts = seen[0].split("/")
        if parts[1] in SYSTEM:
            return seen[0]
        return "/".join(called(part) if part in people or CALLED.fullmatch(part) else part for part in parts)

    return _PATH.sub(named, text)
