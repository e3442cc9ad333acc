"""Steps to change a kubelet's configuration, for a kubelet of the host and for one of a provider."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hostagent.core.steps import Step, shell
from hostagent.core.tables.platforms import owners_way
from hostagent.core.text import joined
from hostagent.core.unread import Unread
from hostagent.domains.kubelet.tables.config_paths import CPU_STATE_OPTIONS, STATE_DIRECTORY, STATE_FILES, WAYS
from hostagent.facts.platform import Platform

#: Candidate names of our drop-in, where the kubelet reads a directory in the order of names: the first one after all others is used.
DROP_INS = ("99-hostagent.conf", "zz-hostagent.conf")
#: The begin of a step with a whole file.
_FILE = "Write this to "


def drop_in(configuration: Mapping[str, Any]) -> tuple[str, ...]:
    """The lines of a KubeletConfiguration with only these fields.

    >>> drop_in({"topologyManagerPolicy": "restricted", "topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "18"}})[2:]
    ('topologyManagerPolicy: restricted', 'topologyManagerPolicyOptions:', '  max-allowable-numa-nodes: "18"')
    """
    return ("apiVersion: kubelet.config.k8s.io/v1beta1", "kind: KubeletConfiguration", *_fields(configuration))


def lines_below(step: Step, configuration: Mapping[str, Any]) -> tuple[str, ...]:
    """The lines of the configuration below a step: a whole file, or fields for one; () below most."""
    if not configuration or not step.text.endswith(":"):
        return ()
    return drop_in(configuration) if step.text.startswith(_FILE) else tuple(_fields(configuration))


def _fields(configuration: Mapping[str, Any]) -> Iterator[str]:
    for name, value in configuration.items():
        if isinstance(value, Mapping) and value:
            yield f"{name}:"
            yield from (f'  {key}: "{item}"' for key, item in value.items())
        else:
            yield f"{name}: {'{}' if isinstance(value, Mapping) else value}"


def steps(configuration: Mapping[str, Any], pod: Mapping[str, str], kubelet: Any, platform: Any) -> tuple[Step, ...]:
    """What to do, in order; () where nothing changes. `kubelet` and `platform` may be unread."""
    asked = tuple(Step("configure", f"Let the pod ask for {value} {_PLAIN.get(name, name)}.") for name, value in pod.items())
    if not configuration:
        return asked
    name, owner, place = _part(platform)
    if owner in ("provider", "image"):
        return (*asked, *(Step("contact_owner", f"{text.rstrip('.')}:") for text in owners_way(name, owner, "kubelet")[:1]))
    unit = _known(kubelet, "unit") or "kubelet"
    states = tuple(f"{STATE_DIRECTORY.get(place, '/var/lib/kubelet')}/{one}" for one in sorted(_state_files(configuration, kubelet)))
    return (
        *asked,
        *_over_flags(configuration, kubelet),
        Step("configure", _where(_known(kubelet, "config_files"), place)),
        Step("drain_and_inspect", "Drain the node.", "kubectl drain <node> --ignore-daemonsets --delete-emptydir-data"),
        *_restart(unit, states),
        Step("configure", "Let pods onto the node again.", "kubectl uncordon <node>"),
    )


_PLAIN = {"cpu": "CPUs"}


def _restart(unit: str, states: tuple[str, ...]) -> Iterator[Step]:
    """A running kubelet writes its state files, so they go while it is stopped."""
    if not states:
        yield Step("restart_service", "Restart the kubelet.", shell("systemctl restart {}", unit))
        return
    yield Step("restart_service", "Stop the kubelet.", shell("systemctl stop {}", unit))
    for path in states:
        yield Step("configure", f"Remove {path}: the kubelet refuses that of another policy.", shell("rm -f {}", path))
    yield Step("restart_service", "Start the kubelet.", shell("systemctl start {}", unit))


def _part(platform: Any) -> tuple[str, str, str]:
    """Name of the platform, owner of the kubelet's configuration, and its place; the host's own where that was not read."""
    if not isinstance(platform, Platform) or isinstance(platform.name, Unread):
        return "", "host", ""
    part = platform.part("kubelet")
    return (platform.name, "host", "") if isinstance(part, Unread) else (platform.name, part.owner, part.place)


def _known(fact: Any, name: str) -> Any:
    """A field of a fact, None where it, or the fact, was not read."""
    value = None if isinstance(fact, Unread) or fact is None else getattr(fact, name)
    return None if isinstance(value, Unread) else value


def _over_flags(configuration: Mapping[str, Any], kubelet: Any) -> Iterator[Step]:
    """A flag wins over every file."""
    origin = dict(_known(kubelet, "origin") or ())
    flags = [flag for name in configuration if (flag := origin.get(name, "")).startswith("--")]
    if flags:
        yield Step("configure", f"Take {joined(flags)} off the kubelet's command line: a flag wins over every file.")


def _where(files: Iterable[str] | None, place: str) -> str:
    """The place for the fields: a drop-in where the kubelet reads them, else its file."""
    read = tuple(files or ())
    last = next((path for path in reversed(read) if path.endswith(".conf") and ".d/" in path), "")
    if last:
        directory, _, name = last.rpartition("/")
        own = next((one for one in DROP_INS if one >= name), "")
        return f"{_FILE}{directory}/{own}:" if own else f"Set these fields in {last}:"
    if place in WAYS:
        return WAYS[place]
    return f"Set these fields in {read[0]}:" if read else "Give the kubelet these fields in the file that its --config names:"


def _state_files(configuration: Mapping[str, Any], kubelet: Any) -> Iterator[str]:
    """State files that the kubelet would not start with: of another policy, or with CPUs that an option removes."""
    for field, file in STATE_FILES.items():
        if field in configuration:
            yield file
    before = dict(_known(_known(kubelet, "config"), "cpu_manager_policy_options") or ())
    after = configuration.get("cpuManagerPolicyOptions")
    if (
        isinstance(after, Mapping)
        and "cpuManagerPolicy" not in configuration
        and any(before.get(one) != after.get(one) for one in CPU_STATE_OPTIONS)
    ):
        yield "cpu_manager_state"
