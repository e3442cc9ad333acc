"""NCCL as a job of this host finds it: library, plug-ins, settings, and what it would choose."""

from hostagent.check import Family

FAMILY = Family(title="NCCL", order=69, condition="FabricReady")
