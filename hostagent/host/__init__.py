"""The only I/O on the host. ``Source`` is what readers ask; a backend is what answers."""
