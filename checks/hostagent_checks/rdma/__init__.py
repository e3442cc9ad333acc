"""RDMA ports behind the GPUs: whether they are there, up, at full rate and alike, and what stands behind them."""

from hostagent.check import Family

FAMILY = Family(title="RDMA", order=66, condition="FabricReady")
