"""The only I/O on the host. ``Source`` is what collectors ask; a backend is what answers."""
