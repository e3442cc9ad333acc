"""Kernels, boot entries, modprobe and the kernel log."""
