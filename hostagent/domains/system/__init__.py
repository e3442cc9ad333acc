"""The operating system, its kernels and what runs on the host."""
