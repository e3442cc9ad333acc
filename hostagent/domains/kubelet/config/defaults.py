"""The kubelet's defaults for fields that are not set."""

import functools
from typing import Any

from hostagent.domains.kubelet.config.gates import Gates
from hostagent.domains.kubelet.config.rows import holds
from hostagent.domains.kubelet.config.schema import Fields, schema_of
from hostagent.domains.kubelet.tables.defaults import DEFAULTS, DEFAULTS_BY_GATES_SINCE

_PANICS = "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "


@functools.lru_cache(maxsize=16)
def _defaults(minor: int) -> dict[str, Any]:
    kinds = schema_of(minor).fields()
    found: dict[str, Any] = {}
    for field, value, versions in DEFAULTS:
        if holds([versions] if versions else [], minor):
            found[field] = int(str(value)) * 10**6 if kinds[field].lstrip("*") == "d" else value
    return found


def defaulted(config: Fields, gates: Gates) -> Fields:
    """`config` with defaults; raises ``ValueError`` in the kubelet's words for gates that cannot be set."""
    kinds, result = schema_of(gates.minor).fields(), dict(config)
    if gates.minor >= DEFAULTS_BY_GATES_SINCE:
        try:
            gates = gates.with_(config.get("featureGates"))
        except ValueError as error:
            raise type(error)(f"{_PANICS}{error}") from error
    for field, value in _defaults(gates.minor).items():
        current = result.get(field)
        if current is None or (kinds[field][0] not in "*[{" and not current):
            result[field] = list(value) if isinstance(value, list) else value
    if result.get("serializeImagePulls") is None:
        result["serializeImagePulls"] = (result.get("maxParallelImagePulls") or 0) < 2
    _logging(result)
    _by_gates(result, gates)
    return result


def _logging(config: Fields) -> None:
    logging = dict(config.get("logging") or {})
    logging["format"] = logging.get("format") or "text"
    logging["flushFrequency"] = logging.get("flushFrequency") or 5 * 10**9
    config["logging"] = logging


def _by_gates(config: Fields, gates: Gates) -> None:
    back_off = config.get("crashLoopBackOff") or {}
    if gates.enabled("KubeletCrashLoopBackOffMax") and back_off.get("maxContainerRestartPeriod") is None:
        config["crashLoopBackOff"] = {**back_off, "maxContainerRestartPeriod": 300 * 10**9}
    if gates.enabled("KubeletEnsureSecretPulledImages") and not config.get("imagePullCredentialsVerificationPolicy"):
        config["imagePullCredentialsVerificationPolicy"] = "NeverVerifyPreloadedImages"
