"""Checks of the family cdi."""
