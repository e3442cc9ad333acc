"""The only I/O on the host. ``Source`` is what collectors ask; a backend is what answers."""

from hostagent.source.base import Answer, Backend, Completed, Disk, Source, Stat

__all__ = ["Answer", "Backend", "Completed", "Disk", "Source", "Stat"]
