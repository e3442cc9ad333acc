"""NVIDIA Container Toolkit: four packages at one accepted version, binaries, mode, holds, known vulnerabilities, owner."""
