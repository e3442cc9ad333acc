"""Checks of Acme's GPUs."""

from hostagent.check import Family

FAMILY = Family(title="Acme's GPUs", order=55)
