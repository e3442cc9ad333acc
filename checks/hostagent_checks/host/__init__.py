"""The host around the GPU: disk, memlock, shared memory, clock, pending reboot, package locks, its name."""
