"""The environment of the evaluated job, from --env-file, see `hostagent.domains.nccl.env_file`."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hostagent.core.secret.people import without_people
from hostagent.core.unread import Unread
from hostagent.host.source import Source

#: Names that one environment gives: of a home, USER and LOGNAME.
MOST_PEOPLE = 3


class Job(NamedTuple):
    """The job's variables; none without an environment."""

    has_environment: bool
    variables: Mapping[str, str]  # "" where the value is not kept; with HOME where it is set
    people: tuple[str, ...]

    @property
    def home(self) -> str:
        """HOME; also taken for the account's home, which NCCL reads before 2.30.3: the environment does not name the account."""
        return self.variables.get("HOME", "")

    def shown(self, text: str) -> str:
        """A value or a path, without the names of people."""
        return without_people(text, self.people)


def read_job(source: Source) -> "Job | Unread":
    answer = source.environment()
    return answer if isinstance(answer, Unread) else parse_job(answer)


def parse_job(answer: Mapping[str, Any]) -> "Job | Unread":
    """The job from an answer, which is untrusted in a recording.

    >>> parse_job({"variables": {"NCCL_DEBUG": "INFO", "NCCL_X": None}, "home": "/root", "people": []}).variables
    {'NCCL_DEBUG': 'INFO', 'NCCL_X': '', 'HOME': '/root'}
    """
    if not answer:
        return Job(has_environment=False, variables={}, people=())
    match answer:
        case {"variables": dict(variables), "home": None | str() as home, "people": list(people)}:
            are_texts = all(isinstance(one, str | None) for one in variables.values()) and all(isinstance(one, str) for one in people)
            if are_texts and len(people) <= MOST_PEOPLE:
                found = {name: value or "" for name, value in variables.items()}
                return Job(True, {**found, **({} if home is None else {"HOME": home})}, tuple(people))
    return Unread("error", "environment: found another form than variables, home and people")
