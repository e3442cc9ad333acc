"""Removes names of users from paths of a job's tape, redacted or not: its settings and libraries may lie in a user's directories."""

# A user's name that is also a directory below /usr, /etc, /lib, /bin, /sbin, /boot, /dev, /proc or /sys stays there, that of a
# service's account (nvidia, slurm) everywhere. Redaction goes by the variable: NCCL_IB_PKEY=3 is no key, a host's name in
# NCCL_COMM_ID is one; NCCL_HOSTID and NCCL_SOCKET_MAGIC are not kept.

import hashlib
import hmac
from collections.abc import Callable, Collection, Mapping
from typing import Any

from hostagent.core.secret.people import CALLED, PERSON, SYSTEM, without_people
from hostagent.domains.nccl.read_job import MOST_PEOPLE


def without_job_people(answers: Mapping[str, Any], key: bytes) -> dict[str, Any]:
    """The encoded answers of a tape, questions and all. What holds neither a job's environment nor a setting with such a path stays.

    >>> job = {"json": {"variables": {}, "home": "/scratch/alice", "people": ["alice"]}}
    >>> without_job_people({"environment": job, "stat /scratch/alice/x": {"json": {}}}, b"key")
    {'environment': {'json': {'variables': {}, 'home': '/scratch/user-76fb55', 'people': []}}, 'stat /scratch/user-76fb55/x': {'json': {}}}
    """
    people = _people(answers)
    if people is None:
        return dict(answers)

    def called(name: str) -> str:
        return (
            name
            if CALLED.fullmatch(name)
            else f"user-{hmac.digest(key, name.lower().encode('utf-8', 'replace'), hashlib.sha256).hex()[:6]}"
        )

    def shown(text: str) -> str:
        return without_people(text, people, called)

    found = {shown(asked): _of(_names(asked, answer, people, called), shown) for asked, answer in answers.items()}
    if people:
        found["environment"]["json"]["people"] = []
    return found


def _people(answers: Mapping[str, Any]) -> "tuple[str, ...] | None":
    match answers.get("environment"):
        case {"json": {"people": list(people)}}:
            return tuple(map(str, people[:MOST_PEOPLE]))
    for answer in answers.values():
        match answer:
            case {"kept": ["nccl.conf", *_], "text": str(text)} if PERSON.search(text):
                return ()
    return None


def _names(asked: str, answer: Any, people: Collection[str], called: Callable[[str], str]) -> Any:
    """Of a directory that a person's may lie in."""
    method, _, path = asked.partition(" ")
    match answer:
        case {"json": list(names)} if method == "list" and path.split("/")[1:2] and path.split("/")[1] not in SYSTEM:
            return {"json": [called(name) if name in people else name for name in names]}
    return answer


def _of(value: Any, shown: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, list):
        return [_of(item, shown) for item in value]
    return {name: _of(item, shown) for name, item in value.items()} if isinstance(value, dict) else value
