"""hostagent: makes a GPU host ready, proves it, and tells every scheduler."""

__version__ = "0.1.0"
