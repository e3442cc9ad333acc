"""Checks of the family host."""
