"""Decides whether a job may be placed, on which nodes, and if not, why: pure, over candidates of any backend."""

from hostagent.gate.answer import Answer
from hostagent.gate.candidate import Candidate, parse_candidate
from hostagent.gate.placing import place
from hostagent.gate.request import Request

__all__ = ["Answer", "Candidate", "Request", "parse_candidate", "place"]
