"""Files, drop-ins and flags become one configuration, in the order in which the kubelet reads them."""

# A file of --config comes back from the merge as JSON, which drops what is empty: `enforceNodeAllocatable: []` is [pods] again as
# soon as there is a --config-dir. Feature gates of flags win over those of the file by key, though documents say they are lowest.
# Without --config there are no eviction thresholds at all. Before 1.32 drop-ins merge into Go's own field names (maps only grow,
# null does nothing, no defaults afterwards), before 1.30 they need a variable; gates end the kubelet while defaults are set from
# 1.32 on.

import posixpath
from typing import Any, NamedTuple

from hostagent.core.unread import Unread, need
from hostagent.domains.kubelet.config.defaults import defaulted
from hostagent.domains.kubelet.config.documents import Document, documents_of, dropin_of
from hostagent.domains.kubelet.config.flags import Flag, applied, checked, parse_flags
from hostagent.domains.kubelet.config.gates import Gates
from hostagent.domains.kubelet.config.model import KubeletInputs
from hostagent.domains.kubelet.config.schema import Fields, decode, schema_of
from hostagent.domains.kubelet.config.values import again, merged
from hostagent.domains.kubelet.config.written import written
from hostagent.domains.kubelet.tables.defaults import DROPINS, DROPINS_VARIABLE, EVICTION_HARD, LABEL_NAMESPACES, LABELS, MERGES_BY_NAME

_INITIAL = "failed to set feature gates from initial flags-based config: "


class Loaded(NamedTuple):
    """`origin`: by field of the configuration, the file or the flag that set it last."""

    config: Fields
    gates: Gates
    origin: dict[str, str]
    flags: tuple[Flag, ...]


class KnownInputs(NamedTuple):
    """`KubeletInputs` with a known command line."""

    words: tuple[str, ...]
    files: tuple[tuple[str, bytes | Unread], ...]
    environment: dict[str, str]


def known_inputs(inputs: KubeletInputs) -> KnownInputs:
    """Raises ``UnreadError`` where the command line is not known."""
    return KnownInputs(need(inputs.flags), inputs.files, dict(inputs.environment))


def load(inputs: KnownInputs, minor: int) -> Loaded:
    """Raises ``ValueError`` in the kubelet's words where it would not start, ``UnreadError`` for a file that could not be read."""
    flags = parse_flags(inputs.words, minor)
    checked(flags)
    _ends_at_once(flags)
    last = {flag.name: flag.value for flag in flags}
    config, origin = applied(flags, defaulted({}, Gates(minor))), dict[str, str]()
    gates = _gates(Gates(minor), config)
    _check_labels(flags)
    files = list(inputs.files)
    if last.get("config"):
        path, content = files.pop(0) if files else (last["config"], Unread("error", "the reader named no such file"))
        config = _from_file(path, content, gates, origin)
    if last.get("config-dir"):
        if minor < DROPINS and DROPINS_VARIABLE not in inputs.environment:
            raise ValueError(
                f"flag {last['config-dir']} specified but environment variable {DROPINS_VARIABLE} not set, cannot start kubelet"
            )
        config = _with_dropins(config, last["config-dir"], files, gates, origin)
    if last.get("config") or last.get("config-dir"):
        config = _flags_again(config, flags)
        gates = _gates(gates, config)
    origin.update({flag.path.partition(".")[0]: f"--{flag.name}" for flag in flags if flag.path})
    return Loaded(config, gates, origin, flags)


def _ends_at_once(flags: tuple[Flag, ...]) -> None:
    for flag in flags:
        if flag.name in {"help", "version"} and flag.value != "false":
            raise ValueError(f"--{flag.name} prints its answer and ends")


def _gates(gates: Gates, config: Fields) -> Gates:
    try:
        return gates.with_(config.get("featureGates"))
    except ValueError as error:
        raise type(error)(f"{_INITIAL}{error}") from error


def _check_labels(flags: tuple[Flag, ...]) -> None:
    labels = applied(tuple(flag for flag in flags if flag.name == "node-labels"), {}, only_config=False).get("--node-labels") or {}
    unknown = []
    for label in labels:
        namespace = label.partition("/")[0] if "/" in label else ""
        ours = namespace in {"kubernetes.io", "k8s.io"} or namespace.endswith((".kubernetes.io", ".k8s.io"))
        allowed = label in LABELS or any(namespace == each or namespace.endswith(f".{each}") for each in LABEL_NAMESPACES)
        if ours and not allowed:
            unknown.append(label)
    if unknown:
        raise ValueError(
            "failed to validate kubelet flags: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: "
            f"[{' '.join(sorted(unknown))}]"
        )


def _from_file(path: str, content: bytes | Unread, gates: Gates, origin: dict[str, str]) -> Fields:
    before = f"failed to load kubelet config file, path: {path}, error: failed to load Kubelet config file {path}, error "
    if isinstance(content, Unread) and content.why == "absent":
        raise ValueError(f'{before}failed to read kubelet config file "{path}", error: open {path}: no such file or directory')
    try:
        document, fields = _decoded(path, need(content), gates.minor)
    except ValueError as error:
        raise again(error, f"{before}{error}") from error
    config = defaulted(fields, gates)
    _absolute(config, path)
    if config.get("evictionHard") is None:
        config["evictionHard"] = dict(EVICTION_HARD)
    elif config.get("mergeDefaultEvictionSettings"):
        config["evictionHard"] = {**EVICTION_HARD, **config["evictionHard"]}
    origin.update(dict.fromkeys(_set_by(document, gates.minor), path))
    return config


def _decoded(path: str, data: bytes, minor: int) -> tuple[Document, Fields]:
    document = documents_of(path, data)
    decoded = decode(schema_of(minor), document.value, {}, folded=False)
    if decoded.error:
        raise ValueError(f"failed to decode: {decoded.error}")
    return document, decoded.fields


def _absolute(config: Fields, path: str) -> None:
    """Paths that the file names are seen from its folder."""
    for field in ("staticPodPath", "tlsCertFile", "tlsPrivateKeyFile", "resolvConf", "podLogsDir"):
        if config.get(field) and not config[field].startswith("/"):
            config[field] = posixpath.normpath(posixpath.join(posixpath.dirname(path), config[field]))


def _set_by(document: Document, minor: int) -> list[str]:
    known = schema_of(minor).fields()
    return [field for field, value in document.value or () if field in known and value is not None]


def _with_dropins(config: Fields, folder: str, files: list[tuple[str, bytes | Unread]], gates: Gates, origin: dict[str, str]) -> Fields:
    schema, by_name = schema_of(gates.minor), gates.minor >= MERGES_BY_NAME
    base: dict[str, Any] = written(schema, config) if by_name else {}
    names = {field.lower(): field for field in schema.fields()}
    try:
        for path, content in files:
            patch = dropin_of(path, content, by_name=by_name)
            base = merged(base, patch)
            for key, value in patch.items():
                field = names.get(key.lower(), key)
                origin.pop(field, None)
                if value is not None:
                    origin[field] = path
    except ValueError as error:
        raise again(
            error, f'failed to merge kubelet configs: failed to walk through kubelet dropin directory "{folder}": {error}'
        ) from error
    decoded = decode(schema, dict(sorted(base.items())), {} if by_name else config, folded=True)
    if decoded.error:
        raise ValueError(f"failed to merge kubelet configs: failed to unmarshal merged JSON into kubelet configuration: {decoded.error}")
    return defaulted(decoded.fields, gates) if by_name else decoded.fields


def _flags_again(config: Fields, flags: tuple[Flag, ...]) -> Fields:
    before = config.get("featureGates")
    result = applied(flags, config)
    if before or result.get("featureGates"):
        result = {**result, "featureGates": {**(before or {}), **(result.get("featureGates") or {})}}
    return result
