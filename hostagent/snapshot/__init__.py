"""Snapshots: record a host, compare two, turn one into a test."""

from hostagent.snapshot.adoption import adopt, expectation
from hostagent.snapshot.difference import differences, shown, summary
from hostagent.snapshot.recording import record

__all__ = ["adopt", "differences", "expectation", "record", "shown", "summary"]
