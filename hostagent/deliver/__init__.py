"""Where a rendered report goes: all output I/O."""
