"""The profile for ``setup --install``: the host's own, with the request as the top layer, and requests that no profile has."""

from dataclasses import replace
from types import MappingProxyType

from hostagent.core.errors import HostagentError
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.runtime.serving import is_there
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.runtime import Runtime
from hostagent.facts.version import upstream, wish
from hostagent.plan.model import Asked, DockerAsked, Renamed
from hostagent.profiles.profile import CudaPolicy, DriverPolicy, Loaded, RuntimePolicy, ToolkitPolicy
from hostagent.setup.distribution import distribution
from hostagent.setup.request import Names, Request

#: Name of the request's layer in such a profile.
LAYER = "hostagent setup"
#: The default layer: a stricter minimum replaces its constraints.
_UNCHOSEN = "default"


def wanted(loaded: Loaded, request: Request, facts: HostFacts) -> tuple[Loaded, Asked]:
    """`loaded`: the host's own profile. Raises ``HostagentError`` for a version that is none."""
    own = loaded.profile
    made = replace(
        own,
        name=f"{own.name} + setup",
        driver=_driver(loaded, request),
        cuda=_cuda(loaded, request),
        toolkit=_toolkit(loaded, request),
        runtime=_runtime(loaded, request, facts),
    )
    origins = dict(loaded.origins)
    for part in ("driver", "cuda", "toolkit", "runtime"):
        for key in _changed(getattr(own, part), getattr(made, part)):
            origins[f"{part}.{key}"] = LAYER
    names = request.names(distribution(facts).family)
    docker = _docker(request, facts, names) if request.wants_docker else None
    renamed = Renamed(names.driver, names.module, names.cuda)
    return loaded._replace(profile=made, origins=MappingProxyType(origins)), Asked(docker=docker, renamed=renamed)


def _driver(loaded: Loaded, request: Request) -> DriverPolicy:
    own = loaded.profile.driver
    minimum = _version(request.minimums.driver, "driver")
    asked = f"{minimum}.*" if request.generation == "A" else f">={minimum}"
    install = own.install if own.install and wish(own.install).allowed_by(asked) else minimum.partition(".")[0]
    return replace(own, version=_both(loaded, "driver.version", own.version, asked, install), install=install)


def _cuda(loaded: Loaded, request: Request) -> CudaPolicy:
    """The toolkit's packages have a name of two fields."""
    own = loaded.profile.cuda
    minimum = _version(request.minimums.cuda, "CUDA toolkit")
    asked = f"{minimum}.*" if request.generation == "A" else f">={minimum}"
    install = own.install if own.install and wish(own.install).allowed_by(asked) else ".".join(minimum.split(".")[:2])
    return replace(own, toolkit=_both(loaded, "cuda.toolkit", own.toolkit, asked, install), install=install)


def _toolkit(loaded: Loaded, request: Request) -> ToolkitPolicy:
    own = loaded.profile.toolkit
    minimum = _version(request.minimums.toolkit, "Container Toolkit")
    asked = wish(minimum).constraint if request.generation == "A" else f">={minimum}"
    install = own.install if own.install and wish(own.install).allowed_by(asked) else minimum
    return replace(own, required="always", version=_both(loaded, "toolkit.version", own.version, asked, install), install=install)


def _both(loaded: Loaded, path: str, own: str, asked: str, install: str) -> str:
    """The request and the constraint of the host's profile, where that is not a default and the installed version can meet both: a newer
    version that meets the request is not downgraded to a default.
    """
    if not own or own == asked or loaded.value_origin(path) == _UNCHOSEN:
        return asked
    both = f"{own},{asked}"
    return both if wish(install).allowed_by(both) else asked


def _version(text: str, what: str) -> str:
    """The version without leading zeros, for the name of a branch."""
    found = upstream(text)
    if isinstance(found, Unread):
        raise HostagentError(f"found {text!r:.60} as the version of the {what}, wanted one like 13.0", "Correct the flag or the variable")
    return found.lstrip("0") if found.lstrip("0")[:1].isdigit() else found


def _runtime(loaded: Loaded, request: Request, facts: HostFacts) -> RuntimePolicy:
    """Docker as the runtime, whatever serves jobs here."""
    own = loaded.profile.runtime
    return replace(own, kind="docker", access="handler") if _configures_docker(request, facts) else own


def _configures_docker(request: Request, facts: HostFacts) -> bool:
    return request.wants_docker and request.configure_docker and (request.install_docker or has_docker(facts))


def has_docker(facts: HostFacts) -> bool:
    """True also where it is unknown: the plan then names the unread fact."""
    try:
        return any(one.kind == "docker" and is_there(one) for one in need(facts.of(Runtime)))
    except UnreadError:
        return True


def _docker(request: Request, facts: HostFacts, names: Names) -> DockerAsked:
    user = request.user if request.join_docker and request.user != "root" else ""
    return DockerAsked(request.install_docker, _configures_docker(request, facts), names.docker, user)


def _changed(before: object, after: object) -> list[str]:
    return [key for key, value in vars(after).items() if getattr(before, key) != value]
