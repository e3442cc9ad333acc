"""What each field of the document says, for its schema: by the path of its names; what a report has, too, in the report's words."""

from collections.abc import Mapping

from hostagent.report.described import DESCRIPTIONS as REPORT

_HEAD = (
    *("schema_version", "tool", "observed_at", "observed_at_iso", "boot_id", "read_from", "replayed", "simulated", "host", "profile"),
    "security",
)
_FINDING = ("message", "headline", "found", "wanted", "action", "remedy")
_OWN: Mapping[str, str] = {
    "only": "The parts that were asked for with --only; none is all of them.",
    "with": "What was asked for with --with.",
    "upgrade": "Whether the newest version was asked for, even where what is installed satisfies the profile.",
    "in_use": "Whether the driver may be installed beside one that is loaded and in use.",
    "kernels": "The kernels that get the driver's module.",
    "resolved": "Whether versions and packages are what the repositories answered, or nothing is to do.",
    "refusals": "Why install changes nothing on this host. Empty where it does.",
    "refusals.id": "The precondition that does not hold: stable, for programs.",
    "steps": "What leads to the wanted state, in the order in which it is done.",
    "steps.id": "The step: stable, for programs.",
    "steps.part": "What it changes.",
    "steps.kind": "How it changes it.",
    "steps.title": "What it does, for people.",
    "steps.why": "Why, for people.",
    "steps.state": "Whether the host already is as the step leaves it.",
    "steps.probe": 'How hostagent sees that it is: completes "done when".',
    "steps.do": "Operations, one after the other. The one key of each names its kind.",
    "steps.undo": "How rollback takes it back.",
    "steps.undo.kind": "Which way; none where it cannot be taken back.",
    "steps.undo.why": "Why that way.",
    "steps.undo.do": "Its own operations, where it needs some.",
    "steps.checks": "The checks that it makes pass.",
    "steps.restarts": "The systemd units that it restarts.",
    "packages": "The packages that change, NVIDIA's first.",
    "packages.name": "Its name.",
    "packages.part": "What it is a part of.",
    "packages.from": "The version that is installed; null where it is not.",
    "packages.to": 'The version that will be; null where it is removed. It ends in "*" where no repository was asked.',
    "packages.origin": "cuda and toolkit are NVIDIA's repositories, distribution is the distribution's; empty of what is removed.",
    "packages.download_bytes": "How much is downloaded; null where that is not known.",
    "files": "The files that are written or removed.",
    "files.path": "Its path on the host.",
    "files.diff": "A unified diff without secrets; empty where the file's text was not read.",
    "files.keys": "Without a diff: the names of what is set.",
    "services": "The systemd units whose state changes.",
    "services.unit": "Its name, without .service.",
    "services.change": "What becomes of it.",
    "restarts": "The systemd units that are restarted, without .service.",
    "reboot": "Whether the host has to be rebooted afterwards; hostagent does not.",
    "reboot.needed": "Whether it is due.",
    "reboot.why": "Its reasons.",
    "irreversible": "What rollback does not take back.",
    "space": "How much space must be free.",
    "space.path": "On the file system that has this path.",
    "space.needed_bytes": "How much.",
    "result": "How the plan was carried out; null where it was not: of 'plan' and of 'install --dry-run'.",
    "result.outcome": "How it ended, in one word.",
    "result.exit": "The exit code of hostagent.",
    "result.run": "The number of the run, which rollback takes back; null where none was begun.",
    "result.message": "The same for people, in one sentence; empty where there is nothing to say.",
    "result.notes": "What else there is to say, for people.",
    "result.steps": "The steps that began, in the order in which they did.",
    "result.steps.id": "The step, as in steps.",
    "result.steps.seconds": "How long its operations took.",
    "result.steps.problem": "Why it failed, for people; empty where it went well.",
}  # fmt: skip

#: By the path of its names.
DESCRIPTIONS: Mapping[str, str] = {
    **{path: text for path, text in REPORT.items() if path.partition(".")[0] in _HEAD},
    **{f"refusals.{name}": REPORT[f"findings.{name}"] for name in _FINDING},
    **{f"refusals.remedy.{name}": REPORT[f"findings.remedy.{name}"] for name in ("action", "text", "command", "if_back")},
    **_OWN,
}
