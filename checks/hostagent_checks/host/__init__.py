"""The host around the GPU: disk, memlock, shared memory, clock, pending reboot, package locks, host name."""

from hostagent.check import Family

FAMILY = Family(title="The host around the GPU", order=100)
