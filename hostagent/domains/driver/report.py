"""``driver``: the loaded driver, the driver on disk, its origin."""

from typing import Any

from hostagent.core.typed import plain
from hostagent.core.unread import Unread, then
from hostagent.domains.report_json import each, fields_schema, object_schema, or_unread, package, packages_schema
from hostagent.facts.driver import Driver
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kernel import InstalledKernel, Kernel
from hostagent.facts.packages import Package, Packages
from hostagent.facts.platform import Platform

_MODULE = {"path": "nvidia_path", "version": "nvidia_version", "license": "nvidia_license", "signer": "nvidia_signer"}


def write(facts: HostFacts) -> Any:
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
        "cuda": plain(driver.cuda_driver_version),
        "origin": plain(_origin(driver, owned, facts.of(Platform))),
        "packages": each(owned, package),
        "modules": plain(kernels) if isinstance(kernels, Unread) else {one.release: _module(one) for one in kernels},
    }


def _module(kernel: InstalledKernel) -> dict[str, Any]:
    return {name: plain(getattr(kernel, field)) for name, field in _MODULE.items()}


def _is_driver(package: Package) -> bool:
    name = package.name
    return "nvidia" in name and "container" not in name and not name.startswith(("libnvidia-nvvm", "libnvidia-nscq"))


def _userland(driver: Driver) -> "str | Unread":
    """Versions of the management library on the linker's path: one, or several with commas if more are installed."""
    if isinstance(driver.libraries, Unread):
        return driver.libraries
    versions = {one.version for one in driver.libraries if one.soname.startswith("libnvidia-ml") and one.version}
    return ", ".join(sorted(versions)) or Unread("absent", "no libnvidia-ml.so.1 with a version")


def _origin(driver: Driver, owned: Any, platform: Any) -> "str | Unread":
    """The origin of the driver: the first with evidence; unread if none has any and one could not be read."""
    claims = (
        ("container", driver.container_driver),
        ("managed-os", then(platform, lambda one: then(one.driver, lambda part: part.owner in ("image", "provider")))),
        ("runfile", driver.runfile_traces),
        ("packages", owned),
    )
    for origin, evidence in claims:
        if not isinstance(evidence, Unread) and evidence:
            return origin
    unread = [evidence for _, evidence in claims if isinstance(evidence, Unread) and evidence.why != "absent"]
    return unread[0] if unread else Unread("absent", "no driver on this host")


def schema() -> dict[str, Any]:
    modules = fields_schema(InstalledKernel, tuple(_MODULE.values()))
    text = or_unread({"type": "string"})
    driver = {
        "loaded": {**text, "description": "version of the loaded kernel module"},
        "userland": {**text, "description": "version of libnvidia-ml.so.1 on disk"},
        "flavour": {**text, "description": "open or proprietary, of the loaded module"},
        "cuda": {**text, "description": "highest CUDA version that the driver runs"},
        "origin": {**text, "description": "container, managed-os, runfile or packages"},
        "packages": packages_schema(),
        "modules": or_unread(
            {"type": "object", "additionalProperties": object_schema({name: modules[field] for name, field in _MODULE.items()})}
        ),
    }
    return or_unread(object_schema(driver))
