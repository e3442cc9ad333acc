"""Snapshots: record a host, compare two, turn one into a test."""

from hostagent.snapshot.adoption import add_missing, adopt, expectation
from hostagent.snapshot.contents import things
from hostagent.snapshot.difference import differences, packed, shown, summary
from hostagent.snapshot.recording import record, save

__all__ = ["add_missing", "adopt", "differences", "expectation", "packed", "record", "save", "shown", "summary", "things"]
