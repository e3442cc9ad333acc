"""hostagent: makes a GPU host ready, verifies it, and publishes its state to every scheduler."""

__version__ = "0.1.0"

#: Where bugs are reported: the end of "please report it to …".
REPORT_BUGS_TO = "the project's issue tracker"
