"""A CDI specification was generated into /etc/cdi, where nothing renews it: it is right until the next driver upgrade.

The refresh unit writes to /var/run/cdi, which is empty after each boot. What lies in /etc/cdi keeps the library versions and the
device numbers of the day it was made, and its devices stay even where the new specification does not name them. Where no refresh unit is
enabled, as before toolkit 1.18 and on DGX OS, the copy is how it is done: information, to make it again after each driver upgrade.
"""

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need, shell, skip
from hostagent.facts.cdi import Cdi

from ._specs import without_copy

_ENABLE = Step(
    "restart_service",
    "Let the refresh units make the specification.",
    command="systemctl enable --now nvidia-cdi-refresh.path nvidia-cdi-refresh.service",
)


@check(
    title="No generated CDI specification is in /etc/cdi",
    severity="warning",
    since="0.1",
    headline="A CDI specification in /etc/cdi is never renewed",
    remedy=(
        Step("configure", "Delete the copy.", command="rm /etc/cdi/<file>"),
        _ENABLE,
    ),
    references=("NVIDIA Container Toolkit issues 1239 and 1934", "CDI specification, spec directories"),
    confirm=("ls -l /etc/cdi /var/run/cdi",),
)
def etc_copy(cdi: Cdi) -> Findings:
    for spec in need(cdi.specs):
        if spec.path.startswith("/etc/cdi/") and spec.library_versions:
            volatile = cdi.etc_is_volatile
            if not isinstance(volatile, Unread) and volatile:
                skip("/etc/cdi is in memory, and is made again at each boot")
            message = f"{spec.path} is a copy for driver {first_of(spec.library_versions)}, which nothing renews"
            is_renewed = need(cdi.refresh_enabled)
            steps = (*without_copy(spec.path), _ENABLE) if is_renewed else (_made_again(spec.path),)
            yield fail(message, code="copy", found=spec.path, wanted="/var/run/cdi", at_most=None if is_renewed else "info", remedy=steps)


def _made_again(path: str) -> Step:
    """Where no refresh unit is enabled the copy is how it is done."""
    return Step("none", "After each driver upgrade, make the copy again.", shell("nvidia-ctk cdi generate --output={}", path))
