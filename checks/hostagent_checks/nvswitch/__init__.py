"""NVLink fabrics: fabric manager installed, enabled, running and in the driver's version; NVSwitches visible; NVLSM, IMEX."""

from hostagent.check import Family

FAMILY = Family(title="NVLink fabrics", order=60, condition="FabricReady")
