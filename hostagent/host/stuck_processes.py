"""Child processes of earlier passes that are stuck in the kernel, where even SIGKILL does not end them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from hostagent.core.unread import Unread
from hostagent.host.answer_file import Question


class StuckProcesses(NamedTuple):
    """Process ids of stuck children, by the question that hangs and by lane."""

    questions: "Mapping[Question, int]" = MappingProxyType({})
    lanes: Mapping[str, int] = MappingProxyType({})

    @property
    def answers(self) -> dict[Question, Unread]:
        """Answers to the questions that are not asked meanwhile."""
        return {
            asked: Unread("timeout", f"{' '.join(asked)}: not asked, process {pid} of an earlier pass hangs in it")
            for asked, pid in self.questions.items()
        }
