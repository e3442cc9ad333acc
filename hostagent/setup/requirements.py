"""Host requirements of a TAO model: ``runtime_requirements.gpu_host`` of its ``skill_info.yaml``, as YAML or JSON."""

import json
from collections.abc import Mapping
from typing import Any

from hostagent.core import yamlfile
from hostagent.core.errors import did_you_mean
from hostagent.setup.request import RequestError

#: Bytes of such a file.
LIMIT = 1 << 20
_OUTER, _INNER = "runtime_requirements", "gpu_host"
_KEYS = ("min_driver_version", "min_cuda_version", "min_container_toolkit_version")


def parse_requirements(data: bytes, name: str) -> tuple[str, str, str]:
    """Minimums of driver, CUDA toolkit and Container Toolkit, "" for none. `name`: of the file. Raises ``RequestError``.

    A version is taken as it is written, for 13.10 is no number: as one it would be 13.1.

    >>> parse_requirements(b"runtime_requirements: {gpu_host: {min_driver_version: 580, min_cuda_version: 13.10}}", "skill_info.yaml")
    ('580', '13.10', '')
    """
    document, written = _document(data, name)
    outer = _section(document, _OUTER, name, _OUTER)
    inner = _section(outer, _INNER, name, f"{_OUTER}.{_INNER}")
    unknown = [key for key in inner if str(key).startswith("min_") and key not in _KEYS]
    if unknown:  # an unknown minimum would be ignored
        raise _wrong(name, f"{unknown[0]!r:.60} below {_INNER}", f"{', '.join(_KEYS)}{did_you_mean(unknown[0], _KEYS)}")
    driver, cuda, toolkit = (_version(inner.get(key), written.get((_OUTER, _INNER, key), ""), key, name) for key in _KEYS)
    return driver, cuda, toolkit


def _document(data: bytes, name: str) -> tuple[Any, Mapping[tuple[Any, ...], str]]:
    """The document, and its values as they are written. JSON with tabs is no YAML: what looks like JSON is tried as that first."""
    try:
        if data.lstrip()[:1] == b"{":
            return json.loads(data, parse_int=str, parse_float=str), {}
    except (ValueError, RecursionError):
        pass
    try:
        return yamlfile.parse_yaml(data), {path: text for path, (_, text) in yamlfile.places(data).items()}
    except yamlfile.YamlError as error:
        raise RequestError(f"{name}: {error}") from error


def _section(within: Any, key: str, name: str, path: str) -> Mapping[Any, Any]:
    found = within.get(key) if isinstance(within, dict) else None
    if not isinstance(found, dict):
        raise _wrong(name, f"no mapping {path}", f"a file with {_OUTER}.{_INNER}")
    return found


def _version(value: Any, written: str, key: str, name: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        raise _wrong(name, f"{key} {value!r:.60}", 'a version, like "13.0"')
    return written or str(value)


def _wrong(name: str, found: str, wanted: str) -> RequestError:
    return RequestError(f"{name}: found {found}, wanted {wanted}")
