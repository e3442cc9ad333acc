"""NVIDIA Container Toolkit: four packages in one accepted version, programs, configuration, holds, known vulnerabilities, owner."""

from hostagent.check import Family

FAMILY = Family(title="NVIDIA Container Toolkit", order=70, condition="ToolkitReady", part="toolkit")
