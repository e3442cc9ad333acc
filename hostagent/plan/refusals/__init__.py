"""Refusals of a plan: one function per reason."""
