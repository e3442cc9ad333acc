"""Refusals: no driver can be chosen, its module cannot be loaded, or processes use the GPUs; each with the found and the wanted state."""

from collections.abc import Iterable, Iterator

from hostagent.core.steps import Step
from hostagent.core.unread import Unread, need
from hostagent.domains.driver.tables.packages import PackageSet
from hostagent.plan.driver.installed import newest_first
from hostagent.plan.driver.kernels import headers
from hostagent.plan.driver.loaded import must_exchange, users
from hostagent.plan.driver.named import Named, named
from hostagent.plan.driver.situation import Situation, preferred
from hostagent.plan.driver.versions import Offered, lacking
from hostagent.plan.model import Choices, Given, Refusal
from hostagent.plan.refusals.words import profile_step, refusal, several, unread

_PLACES = {"cuda": "NVIDIA's repository", "distribution": "the distribution's archive"}


def two_origins(given: Given) -> Refusal:
    return refusal(
        "origin-second",
        "The driver comes from two origins at once",
        "packages of NVIDIA's repository and of the distribution",
        "packages of one origin",
        Step("install", "Choose one origin, and remove the packages of the other.", "hostagent check --only driver.package_origin"),
    )


def origin_crossed(found: str, wanted: str) -> Refusal:
    return refusal(
        "origin-crossed",
        "The installed driver comes from another origin than the profile names",
        f"a driver from {_PLACES[found]}",
        f"one from {_PLACES[wanted]}",
        profile_step(f"Stay with {_PLACES[found]}: 'install: {{origin: auto}}' in the profile."),
        Step("install", "Or remove the installed driver first: hostagent does not cross from one to the other."),
    )


def nothing_named() -> Refusal:
    return refusal(
        "install-empty",
        "The profile does not say which driver to install",
        "an empty driver.install, and a driver to install",
        "a version or a branch",
        profile_step("Name what to install: 'driver.install' in the profile, or use the profile 'default'."),
    )


def no_row(state: Situation) -> Refusal:
    policy = state.given.profile.install
    delivery = "" if policy.delivery == "auto" else f" with {_DELIVERIES[policy.delivery]}"
    return refusal(
        "no-packages",
        "This release knows no such driver packages for this system",
        f"{state.host.id} {state.host.version_id} on {state.host.arch}",
        f"a system for which {_PLACES[state.origin]} has the {state.flavour} module{delivery}",
        profile_step("Change 'origin', 'delivery' or 'driver.flavour' in the profile."),
    )


_DELIVERIES = {"precompiled": "signed modules", "dkms": "modules that DKMS builds"}


def no_kernel(state: Situation) -> Refusal:
    step = Step("rerun", "Name the kernel that will boot.", "hostagent plan --root DIR --kernel RELEASE")
    return refusal("kernel-unknown", "No kernel is known that needs a module", "no kernel below /lib/modules", "a kernel", step)


def no_version(state: Situation, ways: tuple[PackageSet, ...], known: Offered) -> Refusal:
    """There is no such version, or none with the whole set."""
    tried = [version for version in preferred(state, known.versions) if _is_offered(state, ways, version, known)]
    return _incomplete(state, ways, tried[0], known) if tried else _missing(state, known)


def _missing(state: Situation, known: Offered) -> Refusal:
    place, wish = _PLACES[state.origin], state.wish
    newest = newest_first({one for one in known.versions if one.partition(".")[0].isdecimal() and len(one.partition(".")[0]) == 3})
    found = f"{place} with {several(newest, 4)}" if newest else f"{place} with no driver for this system"
    constraint = state.given.profile.driver.version
    steps = [profile_step("Ask for a version that is there: 'driver: {install: …}' in the profile.")]
    if state.origin == "distribution":
        steps.append(
            profile_step("Or take NVIDIA's repository: 'install: {origin: cuda}', once no driver of the distribution is installed.")
        )
    wanted = f"driver {wish.text}" + (f" that meets {constraint}" if constraint not in ("", wish.constraint) else "")
    return refusal("version-missing", f"The repositories have no driver {wish.text}", found, wanted, *steps)


def _incomplete(state: Situation, ways: tuple[PackageSet, ...], version: str, known: Offered) -> Refusal:
    names = _fullest(state, ways, version, known)
    missing = lacking(names, version, known)
    return refusal(
        "set-incomplete",
        f"The repositories have driver {version} in part",
        f"{_PLACES[state.origin]} without {several(missing, 6)}",
        f"all packages of driver {version} from one origin",
        Step("rerun", "Wait until the repository or its mirror is whole, then plan again."),
        profile_step("Or ask for another version: 'driver: {install: …}' in the profile."),
    )


def _fullest(state: Situation, ways: Iterable[PackageSet], version: str, known: Offered) -> Named:
    return min((named(state, row, version) for row in ways), key=lambda one: len(lacking(one, version, known)))


def _is_offered(state: Situation, ways: tuple[PackageSet, ...], version: str, known: Offered) -> bool:
    """Whether a repository has a part of it, and not only the host."""
    return any(known.has(name, version) for row in ways for name in named(state, row, version).required)


def headers_missing(state: Situation, releases: tuple[str, ...]) -> Refusal:
    packages = [name for release in releases for name, _ in headers(state.host, release, state.names).exact]
    steps = [Step("install", f"Bring the headers of kernel {releases[0]} to this host, or boot a kernel whose headers a repository has.")]
    if state.host.id == "ubuntu":
        steps.append(profile_step("Or take signed modules: 'install: {origin: distribution, delivery: precompiled}' in the profile."))
    return refusal(
        "headers-missing",
        f"No repository has the headers of kernel {several(releases, 2)}",
        f"no package {several(packages, 2)}",
        f"headers of kernel {several(releases, 2)}",
        *steps,
    )


def of_use(given: Given, choices: Choices) -> Iterator[Refusal]:
    """A module that must be exchanged while processes use it. ``--in-use`` installs it for the next boot. Raises ``UnreadError``."""
    if given.view.kind == "image" or not choices.driver.wanted or given.asked.in_use:
        return
    if not must_exchange(given.view, choices.driver):
        return
    steps = (
        Step("drain_and_inspect", "Drain the node, and end what uses its GPUs."),
        Step("rerun", "Or install for the next boot; nothing is unloaded then.", "hostagent install --in-use"),
    )
    found = users(given.view)
    if isinstance(found, Unread):
        yield unread(found, "who uses the GPUs")
    elif found:
        named = tuple(f"{one.program} (pid {one.pid}) with {one.device}" for one in found)
        yield refusal("gpu-in-use", "Programs use the GPUs of this host", several(named), "nobody", *steps)


def of_secure_boot(given: Given, choices: Choices) -> Iterator[Refusal]:
    """DKMS signs with a key of the host: unless that is enrolled in the firmware, no kernel loads its modules. Raises ``UnreadError``."""
    if not choices.driver.wanted or choices.driver.delivery != "dkms" or given.view.kind == "image":
        return
    kernel = need(given.view.kernel)
    states = [one for one in (kernel.secure_boot, kernel.module_signatures_enforced) if one is not False]
    if not states:
        return
    if True not in [one for one in states if not isinstance(one, Unread)]:
        for state in states:
            if isinstance(state, Unread):
                yield unread(state, "Secure Boot")
                return
    keys = need(need(given.view.installation).enrolled_keys)
    if not keys:
        steps = (
            Step("configure", "Take signed modules: 'install: {delivery: precompiled}' in the profile."),
            Step("configure", "Or enrol a key: 'mokutil --import' with it, then confirm at the console of the next boot."),
        )
        made = need(need(given.view.installation).secure_boot_keys)
        found = f"{several(made)}, not enrolled" if made else "no key for modules"
        yield refusal("secure-boot", "Secure Boot would refuse the module that DKMS builds", found, "an enrolled key", *steps)
