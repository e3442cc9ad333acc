"""The drop-in for TAO's ``setup-nvidia-gpu-host.sh``: request, facts and tools of the host, lines and exit code. Pure."""

#: Fact types that the lines need in addition to those of a whole check.
KINDS = ("Cuda", "Ancestry")
