"""One line for the administrator, on standard error and in the system's log: slurmd drops what a health program prints."""

import contextlib
import sys

from hostagent.core.deadline import time_limit
from hostagent.core.errors import OutOfTime
from hostagent.core.escape import visible

#: Seconds for a system log that does not take the line.
_LOG_S = 1.0


def log_line(line: str) -> None:
    """Raises nothing: where neither takes it, the exit code remains."""
    shown = visible(line)
    with contextlib.suppress(Exception):
        sys.stderr.write(f"hostagent: {shown}\n")
        sys.stderr.flush()
    with contextlib.suppress(Exception, OutOfTime), time_limit(_LOG_S):
        import syslog

        syslog.openlog("hostagent", syslog.LOG_PID, syslog.LOG_DAEMON)
        syslog.syslog(syslog.LOG_WARNING, shown)
