"""The state file: the last verdict of this host, for ``status`` and other readers that start no run."""

import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, get_args

from hostagent.core.smallfile import NotOwnError, read_small, reason, refuse_others
from hostagent.core.vocabulary import Verdict
from hostagent.engine.report import PLACEABLE, SCHEMA_VERSION, Report, daemon_lock
from hostagent.engine.report.grouping import first_steps, first_that_counts
from hostagent.engine.report.host_coverage import coverage_of_report
from hostagent.profiles import files

PATH = "/run/hostagent/state.json"
_MAX_BYTES = 1024 * 1024
_MAX_FILES = 64
_MAX_DEPTH = 16
_MAX_TIME = 1e12  # seconds since the epoch
#: Versions of the file that are read; 1 has no headline.
_READ = (1, SCHEMA_VERSION)
_REASON = ("id", "outcome", "severity", "subject", "code", "message")
_TRANSITION = ("condition", "old", "new", "reason")
_CONDITION = ("type", "status", "reason", "message")
_SCOPES = ("single_node", "multi_node")
#: A clock that was set back by more than this many seconds makes a verdict of the future.
_CLOCK_STEP_S = 60
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class State(NamedTuple):
    """The content of the file, and why it is not valid ("" when it is)."""

    data: Mapping[str, Any]
    problem: str

    def placeable(self, scope: str) -> bool:
        """A fresh verdict of this boot that lets a job be placed. `scope`: single_node, multi_node."""
        return not self.problem and self.data["verdict"][scope] in PLACEABLE

    def profile_changes(self) -> Mapping[str, str] | None:
        """Changes of the profile files since the verdict, from `profiles.files.changes`; None where the file lists none."""
        listed = self.data.get("profile_files")
        return None if listed is None else files.changes((one["path"], one["sha256"]) for one in listed)

    @property
    def has_profile_elsewhere(self) -> bool:
        """Whether the profile files lie in the file system of a daemon's pod: files of the same name here say nothing about them."""
        return self.is_daemons and "profile_files" not in self.data

    @property
    def is_daemons(self) -> bool:
        return "conditions" in self.data


def save(report: Report, profile_files: Iterable[tuple[str, str]], path: str = PATH, quarantine: Iterable[str] = ()) -> None:
    """Write the file atomically, readable for all. `profile_files`: ``Loaded.files``; `quarantine`: see `document`. Raises ``OSError``,
    also where a daemon keeps the file.
    """
    from hostagent.core.filewrite import deliver

    folder = os.path.dirname(path)
    make(folder)
    if daemon_lock.is_held(folder):
        raise OSError(errno.EBUSY, "found a daemon that keeps it")
    deliver(json.dumps(document(report, profile_files, quarantine), indent=1) + "\n", path, mode=0o644)


def document(
    report: Report,
    profile_files: Iterable[tuple[str, str]] | None,
    quarantine: Iterable[str] = (),
    fabric_class: str | None = None,
    gpus: int = 0,
) -> dict[str, Any]:
    """The file's content for one report. `profile_files` is None where they are in a pod's file system and not the host's.

    `quarantine`: check ids of the profile. The file names the first of them that fails or warns, as a reason (GpuXid), "" where none does.
    `fabric_class`: where it is known already. `gpus`: how many the profile asks for.
    """
    if fabric_class is None:
        from hostagent.engine.report import node_summary

        fabric_class = node_summary.fabric_class(report)
    reasons = [
        {key: getattr(one, key) for key in _REASON}
        for one in report.findings
        if one.outcome in ("fail", "warn", "unknown") and one.severity != "info"
    ]
    first = first_that_counts(report)
    listed = [{"path": file, "sha256": fingerprint} for file, fingerprint in profile_files or ()]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": report.tool.name, "version": report.tool.version},
        "observed_at": report.observed_at,
        "valid_until": report.valid_until,
        "boot_id": report.boot_id,
        "profile": {"name": report.profile.name, "hash": report.profile.hash},
        **({} if profile_files is None else {"profile_files": listed}),
        "verdict": {"single_node": report.verdict.single_node, "multi_node": report.verdict.multi_node},
        "coverage": coverage_of_report(report),
        "headline": report.headline,
        "action": report.action,
        "todo": [step.text for step in first_steps(report, first)] if first else [],
        "reasons": reasons,
        "quarantine": _quarantined(report, quarantine),
        "fabric_class": fabric_class,
        "has_gpus": bool(gpus) or _has_gpus(report.facts),
    }


def _has_gpus(facts: Mapping[str, Any]) -> bool:
    """False where none is seen and no driver is loaded, as on a node for other jobs. Where all GPUs are lost, a driver still is."""
    driver = facts.get("driver")
    loaded = driver.get("loaded") if isinstance(driver, Mapping) else None
    return not (facts.get("gpus") == [] and isinstance(loaded, Mapping) and loaded.get("unread") == "absent")


def _quarantined(report: Report, quarantine: Iterable[str]) -> str:
    listed = tuple(quarantine)
    if not listed:
        return ""
    from hostagent.engine.report.node_status import camel_case

    bad = {one.id for one in report.findings if one.outcome in ("fail", "warn")}
    return next((camel_case(name) for name in listed if name in bad), "")


def make(folder: str) -> None:
    """Creates the state directory, readable for all whatever the umask. Refuses one that others may write to.
    Raises ``OSError``.
    """
    if not os.path.isdir(folder):
        os.makedirs(folder)
        os.chmod(folder, 0o755)  # noqa: S103  the verdict is everybody's to read
    refuse_others(folder, {0, os.geteuid()})


def read(path: str, now: float, *, boot_id: str | None = None) -> State:
    """The last verdict, with what is wrong with it: missing, damaged, expired, or of another boot. `boot_id`: None for this machine's."""
    try:
        raw = read_small(path, _MAX_BYTES, {0, os.geteuid()})
    except NotOwnError as error:
        return State({}, f"{path} is not believed ({reason(error)})")
    except OSError as error:
        return State({}, f"no verdict in {path} ({reason(error)})")
    try:
        data = json.loads(raw, parse_constant=_refuse)
        if data["schema_version"] not in _READ:
            return State({}, f"{path} has schema_version {data['schema_version']!r}, wanted {' or '.join(map(str, _READ))}")
        damage = _damage(data)
    except KeyError as error:
        damage = f"it has no {error.args[0]!s:.60}"
    except (json.JSONDecodeError, UnicodeDecodeError):
        damage = "not JSON" if raw.strip() else "it is empty"
    except (ValueError, TypeError, RecursionError) as error:
        damage = str(error)[:200] if isinstance(error, ValueError) else "it has another shape"
    if damage:
        return State({}, f"{path} is damaged ({damage})")
    return State(data, _stale(data, now, _boot_id() if boot_id is None else boot_id))


def _refuse(word: str) -> float:
    raise ValueError(f"found the number {word}")


def _damage(data: Mapping[str, Any]) -> str:
    """The part of the file that differs from the shape of `save`; "" for none."""
    times = (data["observed_at"], data["valid_until"], *((data["last_transition"]["at"],) if "last_transition" in data else ()))
    if not all(
        {verdict[scope] for scope in _SCOPES} <= set(get_args(Verdict))
        for verdict in (data["verdict"], data.get("measured", data["verdict"]))
    ):
        return "no verdict in it"
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in times):
        return "a time is no number"
    if not all(0 <= one <= _MAX_TIME for one in times):
        return "a time is out of range"
    if _is_deep(data, _MAX_DEPTH):
        return f"it has more than {_MAX_DEPTH} levels"
    listed = data.get("profile_files", [])
    if not isinstance(listed, list) or len(listed) > _MAX_FILES:
        return "no list of profile files"
    if not isinstance(data.get("has_gpus", True), bool):
        return "has_gpus is neither true nor false"
    return "" if all(isinstance(one, str) for one in _texts(data, listed)) else "a text is missing"


def _texts(data: Mapping[str, Any], listed: Iterable[Mapping[str, Any]]) -> Iterator[Any]:
    yield from (one[key] for one in listed for key in ("path", "sha256"))
    yield from (data.get(key, "") for key in ("headline", "action", "coverage", "quarantine", "fabric_class"))
    yield from data.get("todo", ())
    yield from (data["boot_id"], data["profile"]["name"], *(one[key] for one in data["reasons"] for key in _REASON))
    yield from (one[key] for one in data.get("conditions", ()) for key in _CONDITION)
    yield from (data["last_transition"][key] for key in _TRANSITION if "last_transition" in data)


def _is_deep(value: Any, levels: int) -> bool:
    """Whether there are more: JSON that was read need not be one that can be written."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels < 0 or any(_is_deep(one, levels - 1) for one in inner)


def _stale(data: Mapping[str, Any], now: float, boot_id: str) -> str:
    if data["boot_id"] != boot_id:
        return "the verdict is from another boot"
    if now < data["observed_at"] - _CLOCK_STEP_S:
        return f"the verdict is {data['observed_at'] - now:.0f} s in the future"
    return f"the verdict expired {now - data['valid_until']:.0f} s ago" if now > data["valid_until"] else ""


def _boot_id() -> str:
    try:
        with open(_BOOT_ID, encoding="ascii") as stream:
            return stream.read().strip()
    except OSError:
        return "unreadable"
