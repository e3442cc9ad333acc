"""The driver's module was loaded again and again within the last hours: something takes it away and brings it back.

A driver container that fails and starts again does so, and a service that reloads modules. Jobs end each time. The daemon alone knows: it
keeps the loads that the kernel log has lost since.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, counted, need, warn
from hostagent.facts.history import History

_HOUR_S = 3600


class Params(NamedTuple):
    """window_hours: hours that count
    most: times that the driver may be loaded in them
    """

    window_hours: float = 1.0
    most: int = 3


@check(
    title="The driver stays loaded",
    severity="warning",
    since="0.1",
    headline="The driver is loaded again and again",
    remedy=(
        Step("drain_and_inspect", "Find what loads the driver: a driver container that restarts, or a service of the host."),
        Step("contact_owner", "Ask who runs the driver container.", if_back=True),
    ),
    references=("NVIDIA GPU Operator",),
    confirm=("journalctl -k -g 'NVRM: loading'",),
)
def reloads(history: History, params: Params) -> Findings:
    loads = need(history.driver_loads)
    begins = need(history.now) - params.window_hours * _HOUR_S
    times = sum(at > begins for at in loads)
    if times > params.most:
        text, wanted = counted(times, "time"), f"<= {params.most} in {params.window_hours:g} h"
        yield warn(f"the driver was loaded {text} in {params.window_hours:g} h", code="again", found=text, wanted=wanted)
