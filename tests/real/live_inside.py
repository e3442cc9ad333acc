"""Takes a module out of the kernel by a made plan, as `hostagent install` does on a live host: ``python live_inside.py SECONDS``.

The kernel that the tests run on has no modules to exchange by a plan of its own. `SECONDS`: of waiting for the lock of the lane.
"""

import os
import sys
from dataclasses import replace

from hostagent.cli.options import prepared_for
from hostagent.cli.plan import with_installation
from hostagent.engine.target import Evidence
from hostagent.install.apply import Apply, Wishes
from hostagent.install.replan import replan_of
from hostagent.install.target import Target
from hostagent.plan.model import Asked, Choices, DriverChoice, Plan, PlanStep, Probe, Reboot, Run, ToolkitChoice, Undo
from hostagent.plan.view import view
from tests.real.engine_inside import Nobody

GONE = Probe("nvidia is not loaded", lambda _: not os.path.exists("/sys/module/nvidia"))
STEP = PlanStep("driver.load", "driver", "load", "Take the module out", "made", GONE, (Run(("rmmod", "nvidia")),), Undo("none", "made"))


def main(seconds):
    def made(facts, loaded, asked, *_):
        return Plan(
            view=view(facts), profile=loaded.profile, asked=asked, choices=Choices(DriverChoice(wanted=True), ToolkitChoice(wanted=False)), resolved=True,
            refusals=(), steps=(STEP,), questions=(), packages=(), files=(), reboot=Reboot(needed=False), irreversible=(), space=(),
        )  # fmt: skip

    place = Evidence(deadline_s=3)
    prepared = with_installation(prepared_for(place, ""))
    policy = replace(prepared.loaded.profile.install, lock_timeout_s=int(seconds))
    outcome = Apply(Target(place), replan_of(place, prepared, Asked(), made), Wishes(policy), Nobody()).perform()
    sys.stdout.write(f"{outcome.word}: {outcome.message}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
