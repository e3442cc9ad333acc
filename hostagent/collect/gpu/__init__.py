"""GPUs by PCI, NVML and the kernel log."""
