"""The kubelet's validation of its configuration, before it looks at the machine, in its order and with its errors."""

# More than 65,535 pods are refused because of user namespaces (measured, 1.35.4).

from collections.abc import Iterator

from hostagent.domains.kubelet.config.gates import Gates, UnknownNameError, aggregate, shown
from hostagent.domains.kubelet.config.golang import parse_cpuset, printed, quoted
from hostagent.domains.kubelet.config.schema import Fields
from hostagent.domains.kubelet.tables.defaults import (
    COMPRESSIBLE,
    COMPRESSIBLE_SINCE,
    HAIRPIN_MODES,
    IDS_PER_POD,
    LOG_FILES_SINCE,
    LOG_WORKERS_SINCE,
    NODE_ALLOCATABLE,
    NONE_WITHOUT_QOS_SINCE,
    QOS_WITHOUT_FACTOR_SINCE,
    TOPOLOGY_POLICIES,
    TOPOLOGY_SCOPES,
)

_OF_NAMES = (" must be one of: ", "Valid options are")
_MS = 10**6
_SECOND = 10**9
#: Field, flag, lowest, highest, how the rule is put, whether 0 is out of it.
_RANGES: tuple[tuple[str, str, int, int, str, bool], ...] = (
    ("eventBurst", " (--event-burst)", 0, 2**31, "must not be a negative number", False),
    ("eventRecordQPS", " (--event-qps)", 0, 2**31, "must not be a negative number", False),
    ("healthzPort", " (--healthz-port)", 1, 65535, "must be between 1 and 65535, inclusive", True),
    ("imageGCHighThresholdPercent", " (--image-gc-high-threshold)", 0, 100, "must be between 0 and 100, inclusive", False),
    ("imageGCLowThresholdPercent", " (--image-gc-low-threshold)", 0, 100, "must be between 0 and 100, inclusive", False),
    ("iptablesDropBit", " (--iptables-drop-bit)", 0, 31, "must be between 0 and 31, inclusive", False),
    ("iptablesMasqueradeBit", " (--iptables-masquerade-bit)", 0, 31, "must be between 0 and 31, inclusive", False),
    ("kubeAPIBurst", " (--kube-api-burst)", 0, 2**31, "must not be a negative number", False),
    ("kubeAPIQPS", " (--kube-api-qps)", 0, 2**31, "must not be a negative number", False),
    ("nodeStatusMaxImages", " (--node-status-max-images)", -1, 2**31, "must be -1 or greater", False),
    ("maxOpenFiles", " (--max-open-files)", 0, 2**63, "must not be a negative number", False),
    ("maxPods", " (--max-pods)", 0, 2**31, "must not be a negative number", False),
    ("oomScoreAdj", " (--oom-score-adj)", -1000, 1000, "must be between -1000 and 1000, inclusive", False),
    ("podsPerCore", " (--pods-per-core)", 0, 2**31, "must not be a negative number", False),
    ("port", " (--port)", 1, 65535, "must be between 1 and 65535, inclusive", False),
    ("readOnlyPort", " (--read-only-port)", 0, 65535, "must be between 0 and 65535, inclusive", False),
    ("registryBurst", " (--registry-burst)", 0, 2**31, "must not be a negative number", False),
    ("registryPullQPS", " (--registry-qps)", 0, 2**31, "must not be a negative number", False),
)


def validated(config: Fields, gates: Gates) -> None:
    """Raises ``ValueError`` with all errors."""
    _check_logging(config)
    errors = [*_early(config, gates), *_topology(config), *_shutdown(config, gates), *_by_gate(config, gates)]
    errors += [*_enforced(config, gates), *_images(config, gates), *_reserved(config), *_users(config), *_rest(config, gates)]
    if errors:
        text = f"failed to validate kubelet configuration, error: {aggregate([f'invalid configuration: {error}' for error in errors])}"
        raise UnknownNameError(text) if all(any(phrase in error for phrase in _OF_NAMES) for error in errors) else ValueError(text)


def _check_logging(config: Fields) -> None:
    logging = config.get("logging") or {}
    if logging.get("format") not in {"text", "json"}:
        raise ValueError(
            f"initialize logging: logging.format: Invalid value: {quoted(logging.get('format') or '')}: Unsupported log format"
        )
    if (logging.get("flushFrequency") or 0) <= 0:
        raise ValueError("initialize logging: logging.flushFrequency: Invalid value: Must be greater than zero")
    if logging.get("vmodule") and logging["format"] != "text":
        raise ValueError("initialize logging: logging.vmodule: Forbidden: Only supported for text log format")


def _early(config: Fields, gates: Gates) -> Iterator[str]:
    if (config.get("nodeLeaseDurationSeconds") or 0) <= 0:
        yield "nodeLeaseDurationSeconds must be greater than 0"
    if config.get("systemCgroups") and not config.get("cgroupRoot"):
        yield "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified"
    if gates.minor < NONE_WITHOUT_QOS_SINCE and not config.get("cgroupsPerQOS") and config.get("enforceNodeAllocatable"):
        yield "enforceNodeAllocatable (--enforce-node-allocatable) is not supported unless cgroupsPerQOS (--cgroups-per-qos) is set to true"
    for field, flag, low, high, rule, or_zero in _RANGES:
        value = config.get(field) or 0
        if not low <= value <= high and not (or_zero and value == 0):
            yield f"{field}{flag} {value} {rule}"
    yield from _quota(config, gates)
    low, high = config.get("imageGCLowThresholdPercent") or 0, config.get("imageGCHighThresholdPercent") or 0
    if low >= high:
        yield (
            f"imageGCLowThresholdPercent (--image-gc-low-threshold) {low} must be less than "
            f"imageGCHighThresholdPercent (--image-gc-high-threshold) {high}"
        )
    yield from _image_age(config, gates)
    pulls = config.get("maxParallelImagePulls")
    if pulls is not None and pulls < 1:
        yield f"maxParallelImagePulls {pulls} must be a positive number"
    if pulls is not None and pulls > 1 and config.get("serializeImagePulls"):
        yield "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false"
    if config.get("runOnce") and gates.minor >= COMPRESSIBLE_SINCE:
        yield "runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set"


def _quota(config: Fields, gates: Gates) -> Iterator[str]:
    period = config.get("cpuCFSQuotaPeriod") or 0
    field = f"cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {_braced(period)}"
    if not gates.enabled("CustomCPUCFSQuotaPeriod"):
        if period != 100 * _MS:
            yield f"{field} requires feature gate CustomCPUCFSQuotaPeriod"
    elif not _MS <= period <= _SECOND:
        yield f"{field} must be between 1ms and 1sec, inclusive"


def _braced(duration: int) -> str:
    return f"{{{printed(duration)}}}"


def _image_age(config: Fields, gates: Gates) -> Iterator[str]:
    most, least = config.get("imageMaximumGCAge") or 0, config.get("imageMinimumGCAge") or 0
    if most and not gates.enabled("ImageMaximumGCAge"):
        yield "ImageMaximumGCAge feature gate is required for Kubelet configuration option imageMaximumGCAge"
    if most < 0:
        yield f"imageMaximumGCAge {printed(most)} must not be negative"
    if 0 < most <= least:
        yield f"imageMaximumGCAge {printed(most)} must be greater than imageMinimumGCAge {printed(least)}"


def _topology(config: Fields) -> Iterator[str]:
    policy, scope = config.get("topologyManagerPolicy") or "", config.get("topologyManagerScope") or ""
    if policy not in TOPOLOGY_POLICIES:
        yield f"topologyManagerPolicy (--topology-manager-policy) {quoted(policy)} must be one of: {shown(list(TOPOLOGY_POLICIES))}"
    if scope not in TOPOLOGY_SCOPES:
        one, other = map(quoted, TOPOLOGY_SCOPES)
        yield f"topologyManagerScope (--topology-manager-scope) {quoted(scope)} must be one of: {one}, or {other}"


def _shutdown(config: Fields, gates: Gates) -> Iterator[str]:
    period, critical = config.get("shutdownGracePeriod") or 0, config.get("shutdownGracePeriodCriticalPods") or 0
    by_priority = config.get("shutdownGracePeriodByPodPriority")
    if gates.enabled("GracefulNodeShutdown"):
        if critical > period:
            yield f"shutdownGracePeriodCriticalPods {_braced(critical)} must be <= shutdownGracePeriod {_braced(period)}"
        for field, value in (("shutdownGracePeriod", period), ("shutdownGracePeriodCriticalPods", critical)):
            if value < 0 or 0 < value < _SECOND:
                yield f"{field} {_braced(value)} must be either zero or otherwise >= 1 sec"
    elif period > 0 or critical > 0:
        yield "specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown"
    if not by_priority:
        return
    if not gates.enabled("GracefulNodeShutdownBasedOnPodPriority"):
        yield "Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority"
    elif period > 0 or critical > 0:
        yield "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time"


def _by_gate(config: Fields, gates: Gates) -> Iterator[str]:
    longest = (config.get("crashLoopBackOff") or {}).get("maxContainerRestartPeriod")
    if gates.enabled("KubeletCrashLoopBackOffMax"):
        if longest is None:
            yield "FeatureGate KubeletCrashLoopBackOffMax is enabled, CrashLoopBackOff.MaxContainerRestartPeriod must be set"
        elif not _SECOND <= longest // _MS * _MS <= 300 * _SECOND:
            yield f"CrashLoopBackOff.MaxContainerRestartPeriod (got: {longest / _SECOND:g} seconds) must be set between 1s and 300s"
    elif longest is not None:
        yield "FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set"


def _enforced(config: Fields, gates: Gates) -> Iterator[str]:
    flag, names = "enforceNodeAllocatable (--enforce-node-allocatable)", config.get("enforceNodeAllocatable") or []
    valid = COMPRESSIBLE if gates.minor >= COMPRESSIBLE_SINCE else NODE_ALLOCATABLE
    for one in ("system-reserved", "kube-reserved"):
        if gates.minor >= COMPRESSIBLE_SINCE and one in names and f"{one}-compressible" in names:
            yield f"both {quoted(one)} and {quoted(f'{one}-compressible')} cannot be specified together in {flag}"
    seen = set[str]()
    for name in names:
        if name in seen and gates.minor >= NONE_WITHOUT_QOS_SINCE:
            yield f"duplicated enforcements {quoted(name)} in {flag}"
            continue
        seen.add(name)
        if name not in valid:
            listed = ", ".join(map(quoted, valid[:-1]))
            yield f"option {quoted(name)} specified for {flag}. Valid options are {listed} or {quoted(valid[-1])}"
            continue
        if name == "none":
            if len(names) > 1:
                yield f'{flag} may not contain additional enforcements when "none" is specified'
            continue
        yield from _cgroup_of(name, config, flag)
        if gates.minor >= NONE_WITHOUT_QOS_SINCE and not config.get("cgroupsPerQOS"):
            yield f"cgroupsPerQOS (--cgroups-per-qos) must be set to true when {quoted(name)} contained in {flag}"


def _cgroup_of(name: str, config: Fields, flag: str) -> Iterator[str]:
    owner = name.removesuffix("-compressible")
    field = {"system-reserved": "systemReservedCgroup", "kube-reserved": "kubeReservedCgroup"}.get(owner)
    if field and not config.get(field):
        yield f"{field} (--{owner}-cgroup) must be specified when {quoted(owner)} or {quoted(f'{owner}-compressible')} included in {flag}"


def _images(config: Fields, gates: Gates) -> Iterator[str]:
    mode = config.get("hairpinMode") or ""
    if mode not in HAIRPIN_MODES:
        valid = '"none", "hairpin-veth" or "promiscuous-bridge"'
        yield f"option {quoted(mode)} specified for hairpinMode (--hairpin-mode). Valid options are {valid}"
    policy, allowed = config.get("imagePullCredentialsVerificationPolicy") or "", config.get("preloadedImagesVerificationAllowlist")
    if not gates.enabled("KubeletEnsureSecretPulledImages"):
        for field, value in (("imagePullCredentialsVerificationPolicy", policy), ("preloadedImagesVerificationAllowlist", allowed)):
            if value:
                yield f"`{field}` must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled"
        return
    known = ("NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify")
    if policy not in known:
        listed = f"{', '.join(map(quoted, known[:-1]))} or {quoted(known[-1])}"
        yield f"option {quoted(policy)} specified for imagePullCredentialsVerificationPolicy. Valid options are {listed}"
    if allowed and policy != "NeverVerifyAllowlistedImages":
        yield (
            "can't set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "
            '"NeverVerifyAllowlistedImages"'
        )


def _reserved(config: Fields) -> Iterator[str]:
    cpus = config.get("reservedSystemCPUs")
    if cpus:
        if config.get("systemReservedCgroup") or config.get("kubeReservedCgroup"):
            yield (
                "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) "
                "or kubeReservedCgroup (--kube-reserved-cgroup)"
            )
        try:
            parse_cpuset(cpus)
        except ValueError as error:
            yield f"unable to parse reservedSystemCPUs (--reserved-cpus) {cpus}, error: {error}"
    seen = set[tuple[int, str]]()
    for row in config.get("reservedMemory") or []:
        node = row.get("numaNode") or 0
        for name, quantity in sorted((row.get("limits") or {}).items()):
            if name != "memory" and not name.startswith("hugepages-"):
                only = "only [memory hugepages-<HugePageSize>] is accepted"
                yield f"the limit type {quoted(name)} for NUMA node {node} is not supported, {only}"
            if not quantity.mantissa:
                yield f"reserved memory may not be zero for NUMA node {node} and resource {quoted(name)}"
            if (node, name) in seen:
                yield f"the reserved memory has a duplicate value for NUMA node {node} and resource {quoted(name)}"
            seen.add((node, name))


def _users(config: Fields) -> Iterator[str]:
    each = (config.get("userNamespaces") or {}).get("idsPerPod")
    if each is None:
        return
    if each < IDS_PER_POD:
        yield f"userNamespaces.idsPerPod must not be less than {IDS_PER_POD}"
    elif each % IDS_PER_POD:
        yield f"userNamespaces.idsPerPod must be a multiple of {IDS_PER_POD}"
    elif each >= 2**32:
        yield f"userNamespaces.idsPerPod must not be more than {2**32 - 1}"


def _rest(config: Fields, gates: Gates) -> Iterator[str]:
    factor = config.get("memoryThrottlingFactor")
    if gates.enabled("MemoryQoS") and factor is None and gates.minor < QOS_WITHOUT_FACTOR_SINCE:
        yield "memoryThrottlingFactor is required when MemoryQoS feature flag is enabled"
    if factor is not None and not 0 < factor <= 1:
        yield f"memoryThrottlingFactor {factor:g} must be greater than 0 and less than or equal to 1.0"
    if not config.get("containerRuntimeEndpoint"):
        yield "the containerRuntimeEndpoint was not specified or empty"
    if config.get("enableSystemLogQuery") and not gates.enabled("NodeLogQuery"):
        yield "NodeLogQuery feature gate is required for enableSystemLogQuery"
    if config.get("enableSystemLogQuery") and not config.get("enableSystemLogHandler"):
        yield "enableSystemLogHandler is required for enableSystemLogQuery"
    if gates.minor < LOG_WORKERS_SINCE:
        return
    if (config.get("containerLogMaxWorkers") or 0) < 1:
        yield "containerLogMaxWorkers must be greater than or equal to 1"
    if (config.get("containerLogMonitorInterval") or 0) < 3 * _SECOND:
        yield "containerLogMonitorInterval must be a positive time duration greater than or equal to 3s"
    if (config.get("containerLogMaxFiles") or 0) <= 1 and gates.minor >= LOG_FILES_SINCE:
        yield "containerLogMaxFiles must be greater than 1"
    yield from _log_folder(config.get("podLogsDir") or "")


def _log_folder(path: str) -> Iterator[str]:
    if not path:
        yield "podLogsDir was not specified"
    if not path.startswith("/"):
        yield f"pod logs path {quoted(path)} must be absolute path"
    if path != _clean(path):
        yield f"pod logs path {quoted(path)} must be normalized"
    if not path.isascii():
        yield f"pod logs path {quoted(path)} mut contains ASCII characters only"


def _clean(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts[-1:] = []
        elif part not in {"", "."}:
            parts.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(parts) or "."
