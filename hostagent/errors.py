"""Mistakes of the person at the keyboard: one sentence and one next step, no traceback."""


class HostagentError(Exception):
    """What was found and wanted, and what to do next. The command line prints both and exits 2."""

    def __init__(self, message: str, next_step: str) -> None:
        super().__init__(f"{message}. {next_step}")
        self.message = message
        self.next_step = next_step
