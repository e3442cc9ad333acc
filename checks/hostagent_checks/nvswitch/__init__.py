"""Checks of the family nvswitch."""
