"""What only a change of the host needs to know: every package, who uses the GPUs, what an administrator has written."""
