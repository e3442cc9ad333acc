"""Checks of Acme's GPUs."""

from hostagent.engine.check import Family

FAMILY = Family(title="Acme's GPUs", order=55)
