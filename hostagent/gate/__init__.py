"""Whether a job may be placed, on which nodes, and if not, why: a pure judgement over candidates, wherever those come from."""

from hostagent.gate.answer import Answer
from hostagent.gate.candidate import Candidate
from hostagent.gate.placing import place
from hostagent.gate.request import Request

__all__ = ["Answer", "Candidate", "Request", "place"]
