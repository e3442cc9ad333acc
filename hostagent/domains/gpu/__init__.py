"""GPUs and NVSwitches: NVML, the kernel log's Xids, faults."""
