"""The lanes there are, by name; each is described where its driver is known."""

from hostagent.source.lanes.nvidia import NVIDIA

LANES = {NVIDIA.name: NVIDIA}
