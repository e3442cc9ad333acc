"""Carries out a made plan in a root, as `hostagent install` does: ``python engine_inside.py ROOT LOCK_SECONDS [WORD…]``.

Words change the plan: ``fail`` and ``lie`` its second step, ``sleep=SECONDS`` makes that step last, ``link`` writes below a link,
``runtime`` has a part more, whose file its runtime refuses with ``reject``, ``before`` and ``after`` run programs that fail.
"""

import json
import os
import sys
from dataclasses import replace

from hostagent.cli.options import prepared_for
from hostagent.cli.plan import with_installation
from hostagent.engine.target import Evidence
from hostagent.install.apply import Apply, Wishes
from hostagent.install.replan import replan_of
from hostagent.install.target import Target
from hostagent.plan.model import Asked, Choices, DriverChoice, Plan, PlanStep, Probe, Reboot, Run, ToolkitChoice, Undo, Write
from hostagent.plan.view import view

CONF, LINKED, CRI, MADE = "/etc/made/one.conf", "/etc/away/linked.conf", "/etc/made/cri.conf", "/var/made"
TEXT = "value = {{ 1 + 1 }}\n"


def steps(root, words):
    """Two files and a program, which leaves a third."""

    def has(path, text=""):
        def holds(_):
            place = Target(Evidence(root=root)).inside(path)
            return os.path.isfile(place) and (not text or open(place, encoding="utf-8").read() == text)

        return Probe(f"{path} is there", holds)

    seconds = next((word.partition("=")[2] for word in words if word.startswith("sleep=")), "0")
    script = f"echo begin >>/var/begun; sleep {seconds}; {'echo no compiler >&2; exit 3' if 'fail' in words else 'true' if 'lie' in words else 'touch /var/made'}"
    written = LINKED if "link" in words else CONF
    run = Run(("sh", "-c", script))
    check = Run(("false",)) if "reject" in words else Run(("true",))
    restore = Undo("restore")
    is_two = "runtime" in words or "reject" in words  # each part is a start of Ansible
    return (
        PlanStep(
            "repositories.cuda", "repositories", "file", "Write a file", "made", has(written, TEXT), (Write(written, TEXT, 0o640),), restore
        ),
        PlanStep("repositories.repair", "repositories", "repair", "Run a program", "made", has(MADE), (run,), Undo("packages")),
        *(
            (PlanStep("runtime.made.config", "runtime", "file", "Configure", "made", has(CRI, TEXT), (Write(CRI, TEXT), check), restore),)
            * is_two
        ),
    )


def main(root, lock_timeout_s, *words):
    def made(facts, loaded, asked, *_):
        return Plan(
            view=view(facts), profile=loaded.profile, asked=asked, choices=Choices(DriverChoice(wanted=True), ToolkitChoice(wanted=False)), resolved=True,
            refusals=(), steps=steps(root, words), questions=(), packages=(), files=(), reboot=Reboot(needed=False), irreversible=(), space=(),
        )  # fmt: skip

    place = Evidence(root=root)
    prepared = with_installation(prepared_for(place, ""))
    failing = (("/bin/sh", "-c", "echo node-1 is busy >&2; exit 7"),)
    policy = replace(
        prepared.loaded.profile.install,
        lock_timeout_s=int(lock_timeout_s),
        before=failing if "before" in words else (),
        after=failing if "after" in words else (),
    )
    apply = Apply(Target(place), replan_of(place, prepared, Asked(), made), Wishes(policy), Nobody())
    outcome = apply.perform()
    sys.stdout.write(json.dumps({"word": outcome.word, "code": outcome.code, "message": outcome.message, "run": outcome.run}))


class Nobody:
    def agrees(self):
        return True

    def show(self, document):
        pass

    def begin(self, number, of, step):
        sys.stderr.write(f"{number}/{of} {step.id}\n")

    def end(self, step, seconds, problem):
        pass

    say = show


if __name__ == "__main__":
    main(*sys.argv[1:])
