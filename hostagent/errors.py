"""Mistakes of the person at the keyboard, and the end of the time that something may take."""


class HostagentError(Exception):
    """What was found and wanted, and what to do next. The command line prints both and exits 2."""

    def __init__(self, message: str, next_step: str) -> None:
        super().__init__(f"{message}. {next_step}")
        self.message = message
        self.next_step = next_step


class OutOfTime(BaseException):
    """The time is up. No ``except Exception`` on the way may take it for a fault of the host: see `hostagent.deadline`."""
