"""The public face for people who test checks: case files, and a host made of a dictionary."""

from hostagent.engine.testing import Case, TreeBackend, cases, host, input_kinds, load_case, mismatch, run_case, without_one_field

__all__ = ["Case", "TreeBackend", "cases", "host", "input_kinds", "load_case", "mismatch", "run_case", "without_one_field"]
