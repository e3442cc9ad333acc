"""The GPUs: present on PCI, in /proc and in NVML; lost or off the bus; ECC, row remapping, retired pages, Xids,
NVLink and fabric state, PCIe link, MIG, persistence, power and thermal slow-down.
"""

from hostagent.check import Family

FAMILY = Family(title="GPUs", order=50)
