"""Builds what is released, by ``python -m release``: single files, packages, wheels, sums, list of parts. Nothing installed imports it."""
