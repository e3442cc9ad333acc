"""Checks of the family driver."""
