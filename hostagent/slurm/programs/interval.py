"""How often slurmd runs HealthCheckProgram, and how long a verdict of our programs holds."""

import contextlib
import os
from collections.abc import Iterator

from hostagent.core.smallfile import read_small
from hostagent.domains.slurm import conf

#: Seconds between two runs where slurm.conf does not say it, or says 0: not at all.
INTERVAL_S = 300.0
_CONF_BYTES = 4 * 1024 * 1024
_INTERVAL, _DIGITS = "healthcheckinterval", 6


def valid_for_s(slurm_conf: str, deadline_s: float) -> float:
    """Seconds: a run that came late, or was held off, leaves no gap."""
    return 2 * interval_s(slurm_conf) + deadline_s


def interval_s(slurm_conf: str = "") -> float:
    """Seconds between two runs of HealthCheckProgram."""
    named = slurm_conf or os.environ.get("SLURM_CONF", "")
    for path in (named,) if named else (f"{folder}/slurm.conf" for folder in conf.FOLDERS):
        try:
            found = [value for key, value in _settings(path) if key == _INTERVAL and value.isdecimal() and len(value) <= _DIGITS]
        except OSError:
            continue
        return float(found[-1]) if found and int(found[-1]) else INTERVAL_S
    return INTERVAL_S


def _settings(path: str, *, is_included: bool = False) -> Iterator[tuple[str, str]]:
    """Of slurm.conf and the files that it includes. Raises ``OSError``; an included file that cannot be read is left out."""
    for line in conf.parse_conf(read_small(path, _CONF_BYTES).decode("utf-8", "replace")).lines:
        for key, value in line:
            if key == "include" and not is_included:
                with contextlib.suppress(OSError):
                    yield from _settings(os.path.join(os.path.dirname(path), value), is_included=True)
            yield key, value
