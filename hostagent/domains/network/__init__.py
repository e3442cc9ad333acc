"""Interfaces, RDMA ports, and the way between a GPU and the network."""
