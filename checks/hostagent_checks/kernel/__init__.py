"""Checks of the family kernel."""
