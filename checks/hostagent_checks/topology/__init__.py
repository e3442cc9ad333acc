"""Where GPUs and NICs lie: NUMA nodes, PCIe links of NICs, and what the CPUs do on their own account."""

from hostagent.check import Family

FAMILY = Family(title="Topology", order=65, condition="TopologyReady")
