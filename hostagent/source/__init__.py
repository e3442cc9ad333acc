"""The only I/O on the host. ``Source`` is what collectors ask; a backend is what answers."""

from hostagent.source.answers import Completed, Disk, Stat
from hostagent.source.base import Answer, Backend, Source

__all__ = ["Answer", "Backend", "Completed", "Disk", "Source", "Stat"]
