"""The metrics of ``/metrics``: those of the report, and the daemon's own. Text exposition format of Prometheus."""

# The daemon's own use is read from /proc: psutil would take half a MiB for four numbers.

from collections.abc import Iterable, Mapping

from hostagent.daemon.message import Message
from hostagent.daemon.shared_state import Delivery
from hostagent.outputs.prometheus import family


def metrics(message: "Message | None", deliveries: Mapping[str, Delivery], processes: Mapping[str, float]) -> str:
    """`processes`: by the name behind ``process_``."""
    parts = [of_node(message), *_of_passes(message)] if message else []
    return "".join([*parts, *_of_deliveries(deliveries), *_of_processes(processes)])


def of_node(message: Message) -> str:
    """Metrics of the last report, and the published conditions of the node."""
    samples = [({"condition": one.type, "status": one.status, "reason": one.reason}, 1) for one in message.words.conditions]
    return message.metrics + family("condition", "The conditions of the node as they are published, each 1.", samples)


def _of_passes(message: Message) -> Iterable[str]:
    passes = [({"trigger": trigger}, count) for trigger, count in sorted(message.passes.items())]
    turned = [({"condition": name}, count) for name, count in sorted(message.transitions.items())]
    yield family("passes_total", "Passes by what made them begin.", passes, "counter")
    yield family("pass_duration_seconds", "How long the last pass took.", [({}, message.took_s)] if message.has_pass else [])
    yield family(
        "profile_loads", "Whether the profile loads; where it does not, an older one is in force.", [({}, not message.profile_problem)]
    )
    yield family("agent_stale", "Whether no pass was judged for too long, so that everything is unknown.", [({}, message.is_stale)])
    yield family("condition_transitions_total", "How often the status of a condition changed.", turned, "counter")


def _of_deliveries(deliveries: Mapping[str, Delivery]) -> Iterable[str]:
    tries = [({"sink": sink, "result": result}, count) for sink, one in deliveries.items() for result, count in sorted(one.counts.items())]
    last = [({"sink": sink}, one.succeeded_at) for sink, one in deliveries.items() if one.succeeded_at]
    yield family("deliveries_total", "Tries to deliver what is told, by what came of them.", tries, "counter")
    yield family("delivery_last_success_timestamp_seconds", "When a delivery last succeeded.", last)


_PROCESS = {
    "cpu_seconds_total": ("Processor time of both processes and of what the loop started.", "counter"),
    "resident_memory_bytes": ("Resident memory of both processes.", "gauge"),
    "virtual_memory_bytes": ("Virtual memory of both processes.", "gauge"),
    "open_fds": ("Open descriptors of both processes.", "gauge"),
    "max_fds": ("Descriptors that a process may open.", "gauge"),
    "start_time_seconds": ("When the loop began.", "gauge"),
}


def _of_processes(found: Mapping[str, float]) -> Iterable[str]:
    for name, (meaning, kind) in _PROCESS.items():
        if name in found:
            yield family(name, meaning, [({}, found[name])], kind, "process_")
