"""``fabric``: NICs, RDMA ports, GPUDirect, and the MTU."""
