"""NVLink fabrics: fabric manager installed, enabled, running and of the driver's version, NVSwitches visible, NVLSM, IMEX."""
