"""All I/O on the host. Readers ask a ``Source``; its backend answers."""
