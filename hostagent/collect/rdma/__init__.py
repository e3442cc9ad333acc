"""RDMA devices and their ports."""
