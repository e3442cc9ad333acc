"""Checks of the family toolkit."""
