"""The drop-in for TAO's ``setup-nvidia-gpu-host.sh``: what is asked, what a host's facts and tools say, lines and exit code. Pure."""

#: Names of the fact types that the lines need beside those of a whole check.
KINDS = ("Cuda", "Ancestry")
