"""The kubelet of this host as these checks look at it, and steps with its own unit."""

from hostagent.check import NOT_APPLICABLE, Step, Unread, need, shell, skip
from hostagent.facts.kubelet import Kubelet, KubeletConfig

#: A process' start is told from the boot's second (btime of proc_stat(5)).
_START_IS_EXACT_TO_S = 1


def skip_without(kubelet: Kubelet) -> None:
    """The check does not apply where there is no kubelet."""
    if need(kubelet.state) == "absent":
        skip("this host has no kubelet")


def accepted(kubelet: Kubelet) -> KubeletConfig:
    """The configuration with which it starts; the check does not apply where there is none."""
    skip_without(kubelet)
    if need(kubelet.state) == "rejected":
        skip("the kubelet refuses its configuration")
    return need(kubelet.config)


def is_stopped(kubelet: Kubelet) -> bool:
    """Known not to run: the next start is what counts. In an image nothing runs."""
    runs = kubelet.runs
    return runs.why in NOT_APPLICABLE if isinstance(runs, Unread) else not runs


def started_before_its_files(kubelet: Kubelet) -> bool:
    """As of `need`."""
    return need(kubelet.started_at) + _START_IS_EXACT_TO_S < need(kubelet.newest_config_mtime)


def restart(kubelet: Kubelet) -> Step:
    unit = kubelet.unit
    if isinstance(unit, Unread) or not unit:
        return Step("restart_service", "Restart the kubelet.")
    return Step("restart_service", f"Restart {'the kubelet' if unit == 'kubelet' else unit}.", shell("systemctl restart {}", unit))


def without_state(kubelet: Kubelet, file: str) -> Step:
    """A manager whose policy has changed starts only without the file of the former one, on a node without pods of it."""
    unit = kubelet.unit
    if isinstance(unit, Unread) or unit != "kubelet":
        return Step("restart_service", f"Drain the node, remove the kubelet's {file}, and restart it.")
    command = shell("systemctl stop kubelet && rm {} && systemctl start kubelet", f"/var/lib/kubelet/{file}")
    return Step("restart_service", f"Drain the node, and start the kubelet without its {file}.", command)
