"""``--exit-codes``: those of hostagent, or those of Nagios plug-ins. Imports little, because ``status`` uses it."""

from collections.abc import Sequence
from itertools import pairwise

import click

NAGIOS = "nagios"
#: Of Nagios: what could not be judged, mistakes on the command line included.
UNKNOWN = 3
_OPTION = "--exit-codes"
_COMMANDS = ("check", "status")

exit_codes_option = click.option(
    _OPTION,
    type=click.Choice(["hostagent", NAGIOS], case_sensitive=False),
    default="hostagent",
    show_default=True,
    help="nagios: 0 ready, 1 degraded, 2 not ready, 3 unknown or any error; prints one line unless a format is given.",
)


def is_plugin(arguments: Sequence[str]) -> bool:
    """Whether Nagios reads the exit code. Searches the raw arguments, because a usage error may precede the option.

    >>> is_plugin(["check", "--nonsense", "--exit-codes", "nagios"]), is_plugin(["status", "--exit-codes=nagios"]), is_plugin(["check"])
    (True, True, False)
    """
    if not arguments or arguments[0] not in _COMMANDS:
        return False
    values = [value for pair in pairwise((*arguments, "")) for value in _values(*pair)]
    return bool(values) and values[-1].strip().lower() == NAGIOS


def _values(word: str, following: str) -> tuple[str, ...]:
    name, equals, value = word.partition("=")
    return () if name != _OPTION else (value,) if equals else (following,)
