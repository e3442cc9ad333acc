"""hostagent: makes a GPU host ready, proves it, and tells every scheduler."""

__version__ = "0.1.0"

#: Where a bug is told, as the end of "please report it to …".
REPORT_BUGS_TO = "the project's issue tracker"
