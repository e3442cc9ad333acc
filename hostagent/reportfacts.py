"""The facts part of a report: our facts under the names that other systems read, and the schema of both."""

from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kernel import InstalledKernel, Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Package, Packages
from hostagent.facts.runtime import Handler, Runtime
from hostagent.facts.toolkit import Toolkit
from hostagent.facts.unread import Unread
from hostagent.shape import UNREAD_SCHEMA, plain, schema

_GPU = ("index", "name", "uuid", "pci", "numa_node", "memory_bytes", "compute_capability", "ecc", "mig")
_PACKAGE = ("name", "version", "upstream", "state", "held", "origin")
_RUNTIME = ("kind", "version", "state", "error", "config_files", "default_runtime", "cgroup_driver")
_HANDLER = ("runtime_type", "binary", "systemd_cgroup")
_MODULE = {"path": "nvidia_path", "version": "nvidia_version", "license": "nvidia_license", "signer": "nvidia_signer"}


def report_facts(facts: HostFacts) -> dict[str, Any]:
    """``gpus``, ``driver``, ``toolkit`` and ``runtimes`` as JSON. What was not read says why, never null."""
    return {
        "gpus": _each(facts.of(Gpu), lambda gpu: _picked(gpu, _GPU)),
        "driver": _driver(facts),
        "toolkit": _toolkit(facts.of(Toolkit)),
        "runtimes": _each(facts.of(Runtime), _runtime),
    }


def _each(values: Any, write: Callable[[Any], Any]) -> Any:
    return plain(values) if isinstance(values, Unread) else [write(value) for value in values]


def _picked(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: plain(getattr(value, name)) for name in names}


def _package(package: Package) -> dict[str, Any]:
    return _picked(package, _PACKAGE)


def _toolkit(toolkit: Any) -> Any:
    if isinstance(toolkit, Unread):
        return plain(toolkit)
    return {"version": plain(toolkit.version), "packages": _each(toolkit.packages, _package)}


def _runtime(runtime: Runtime) -> dict[str, Any]:
    handlers = runtime.handlers
    by_name = plain(handlers) if isinstance(handlers, Unread) else {one.name: _picked(one, _HANDLER) for one in handlers}
    return {**_picked(runtime, _RUNTIME), "handlers": by_name}


def _driver(facts: HostFacts) -> Any:
    driver = facts.of(Driver)
    if isinstance(driver, Unread):
        return plain(driver)
    packages, kernel = facts.of(Packages), facts.of(Kernel)
    installed = packages if isinstance(packages, Unread) else packages.installed
    kernels = kernel if isinstance(kernel, Unread) else kernel.installed
    owned = installed if isinstance(installed, Unread) else tuple(one for one in installed if _is_driver(one))
    return {
        "loaded": plain(driver.loaded_version),
        "userland": plain(_userland(driver)),
        "flavour": plain(driver.flavour),
        "origin": plain(_origin(driver, owned, facts.of(Os))),
        "packages": _each(owned, _package),
        "modules": plain(kernels) if isinstance(kernels, Unread) else {one.release: _module(one) for one in kernels},
    }


def _module(kernel: InstalledKernel) -> dict[str, Any]:
    return {name: plain(getattr(kernel, field)) for name, field in _MODULE.items()}


def _is_driver(package: Package) -> bool:
    name = package.name
    return "nvidia" in name and "container" not in name and not name.startswith(("libnvidia-nvvm", "libnvidia-nscq"))


def _userland(driver: Driver) -> "str | Unread":
    """Versions of the management library on the linker's path: one, or several with commas where two are installed."""
    if isinstance(driver.libraries, Unread):
        return driver.libraries
    versions = {one.version for one in driver.libraries if one.soname.startswith("libnvidia-ml") and one.version}
    return ", ".join(sorted(versions)) or Unread("absent", "no libnvidia-ml.so.1 with a version")


def _origin(driver: Driver, owned: Any, os: Any) -> "str | Unread":
    """Who put the driver here. The first that can be shown wins; one that cannot be read could have been it."""
    claims = (
        ("container", driver.container_driver),
        ("managed-os", os if isinstance(os, Unread) else os.managed_by),
        ("runfile", driver.runfile_traces),
        ("packages", owned),
    )
    for origin, evidence in claims:
        if not isinstance(evidence, Unread) and evidence:
            return origin
    unread = [evidence for _, evidence in claims if isinstance(evidence, Unread) and evidence.why != "absent"]
    return unread[0] if unread else Unread("absent", "no driver on this host")


def facts_schema() -> dict[str, Any]:
    """JSON Schema of `report_facts`, from the types of the facts it is made of."""
    package = _fields(Package, _PACKAGE)
    modules = _fields(InstalledKernel, tuple(_MODULE.values()))
    handlers = _or_unread({"type": "object", "additionalProperties": _object(_fields(Handler, _HANDLER))})
    packages = _or_unread({"type": "array", "items": _object(package)})
    text = _or_unread({"type": "string"})
    driver = {
        "loaded": {**text, "description": "version of the loaded kernel module"},
        "userland": {**text, "description": "version of libnvidia-ml.so.1 on disk"},
        "flavour": {**text, "description": "open or proprietary, of the loaded module"},
        "origin": {**text, "description": "container, managed-os, runfile or packages"},
        "packages": packages,
        "modules": _or_unread(
            {"type": "object", "additionalProperties": _object({name: modules[field] for name, field in _MODULE.items()})}
        ),
    }
    return _object(
        {
            "gpus": _or_unread({"type": "array", "items": _object(_fields(Gpu, _GPU))}),
            "driver": _or_unread(_object(driver)),
            "toolkit": _or_unread(_object({**_fields(Toolkit, ("version",)), "packages": packages})),
            "runtimes": _or_unread({"type": "array", "items": _object({**_fields(Runtime, _RUNTIME), "handlers": handlers})}),
        }
    )


def _fields(kind: type, names: tuple[str, ...]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {name: schema(hints[name]) for name in names}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "additionalProperties": False, "properties": dict(properties)}


def _or_unread(shape: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [dict(shape), UNREAD_SCHEMA]}
