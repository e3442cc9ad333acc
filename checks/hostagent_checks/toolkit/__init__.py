"""NVIDIA Container Toolkit: four packages at one accepted version, binaries, mode, holds, known vulnerabilities, owner."""

from hostagent.check import Family

FAMILY = Family(title="NVIDIA Container Toolkit", order=70, condition="ToolkitReady", part="toolkit")
