"""dnf's module of the driver: its stream is the branch. Without an enabled one dnf sees only the newest branch.

Sources: NVIDIA Driver Installation Guide, release 620, Red Hat Enterprise Linux 8 and 9 and Amazon Linux 2023 (streams); libdnf,
ModulePackageContainer (what ``dnf module enable`` writes). The file, not the command: so questions and transactions see the same stream.
"""

from hostagent.core.unread import need
from hostagent.domains.driver.tables.packages import Host, module_stream
from hostagent.domains.packages.tables.names import DRIVER_MODULE
from hostagent.plan.model import Choices, Given, PlanStep, Probe, Undo, Write

MODULE_FILE = f"/etc/dnf/modules.d/{DRIVER_MODULE}.module"


def stream_steps(given: Given, choices: Choices) -> tuple[PlanStep, ...]:
    """() where the distribution has no such module, or the driver stays. Raises ``UnreadError``."""
    driver, os = choices.driver, need(given.view.os)
    if not driver.wanted or driver.origin != "cuda":
        return ()
    stream = module_stream(Host(need(os.id), need(os.version_id), need(os.arch)), driver.branch, driver.flavour, driver.delivery)
    if not stream:
        return ()
    content = f"[{DRIVER_MODULE}]\nname={DRIVER_MODULE}\nstream={stream}\nprofiles=\nstate=enabled\n"
    return (
        PlanStep(
            "repositories.pin-driver",
            "repositories",
            "file",
            f"Enable the stream {stream} of dnf's module {DRIVER_MODULE}",
            "dnf installs from the enabled stream alone; its default is the newest branch",
            Probe(
                f"the stream {stream} is enabled",
                lambda view: dict(need(need(view.packages).module_streams)).get(DRIVER_MODULE) == stream,
            ),
            (Write(MODULE_FILE, content, keys=(f"{DRIVER_MODULE}:{stream}",)),),
            Undo("restore"),
            ("driver.module_stream",),
        ),
    )
