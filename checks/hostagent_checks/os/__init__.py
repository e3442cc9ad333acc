"""Checks of the family os."""
