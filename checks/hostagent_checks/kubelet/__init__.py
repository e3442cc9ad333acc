"""The kubelet by its own effective configuration: whether it would start, which pods of the profile it admits, whether it has what it
needs to put a pod's CPUs, memory and NICs near its GPUs.
"""

from hostagent.check import Family

FAMILY = Family(title="The kubelet", order=85, condition="TopologyReady", part="kubelet")
