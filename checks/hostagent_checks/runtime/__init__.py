"""Checks of the family runtime."""
