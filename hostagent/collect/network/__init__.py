"""Network interfaces of the host."""
