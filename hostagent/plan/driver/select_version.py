"""Chooses the driver: keeps it, or selects packages and version to replace it."""

# Order of decisions: is it ours to install; origin (`origins`); flavour (`flavours`); it stays (`keep_installed`); names
# (`driverpackages`, `named`); version (`versions`: the first that one origin has as a whole, each package with its own revision;
# a module package has its kernel's version, and one that is missing makes the next row be tried, DKMS); removal (`removal`). A
# version with an advisory does not stay where the profile's `security` is critical. NVIDIA's add-ons that nothing here needs (a
# fabric manager without switches) count for nothing; names "beside" the required ones come where the origin has them, because not
# every mirror does.

from typing import NamedTuple

from hostagent.core.tables.platforms import HOSTS_OWN
from hostagent.core.unread import need
from hostagent.domains.driver.tables.packages import PINNED, PackageSet, meta_flavour, package_sets
from hostagent.facts.version import wish
from hostagent.plan.driver import renamed
from hostagent.plan.driver.flavours import wanted_flavour
from hostagent.plan.driver.installed import installed_origins, versions_of
from hostagent.plan.driver.keep_installed import keep_installed
from hostagent.plan.driver.kernels import has_headers, has_module, headers
from hostagent.plan.driver.named import Named, fitting_rows, is_named_by_version, named
from hostagent.plan.driver.refused import headers_missing, no_kernel, no_row, no_version, nothing_named, origin_crossed, two_origins
from hostagent.plan.driver.removal import companions, removed
from hostagent.plan.driver.situation import Situation, host_of, preferred, situation
from hostagent.plan.driver.versions import Offered, lacking, offered
from hostagent.plan.model import DriverChoice, Given, Portion, Refusal
from hostagent.plan.offers import Question

NOT_OURS = DriverChoice(wanted=False)
#: Number of versions to ask for modules by name: repositories keep all that ever were.
_MOST_TRIED = 5


class _Picked(NamedTuple):
    """One version of which one origin has the whole set."""

    names: Named
    version: str


def chosen(given: Given) -> tuple[DriverChoice, Portion]:
    """The choice, with refusals or open questions. Raises ``UnreadError``."""
    if given.profile.driver.owner not in HOSTS_OWN:
        return NOT_OURS, Portion()
    origin = _origin(given)
    if isinstance(origin, Refusal):
        return NOT_OURS, Portion(refusals=(origin,))
    branch = wish(given.profile.driver.install).branch
    flavour = wanted_flavour(given, branch)
    if isinstance(flavour, Refusal):
        stays = keep_installed(situation(given, origin, "open"))
        return (stays, Portion()) if stays else (NOT_OURS, Portion(refusals=(flavour,)))
    state = situation(given, origin, flavour)
    stays = keep_installed(state)
    if stays and (not given.asked.upgrade or not given.profile.driver.install):
        return stays, Portion()
    if not given.profile.driver.install:
        return NOT_OURS, Portion(refusals=(nothing_named(),))
    return _changed(state, stays)


def _changed(state: Situation, stays: "DriverChoice | None") -> tuple[DriverChoice, Portion]:
    ways = _ways(state, state.branch)
    if not ways:
        return NOT_OURS, Portion(refusals=(no_row(state),))
    if not state.kernels:
        return NOT_OURS, Portion(refusals=(no_kernel(state),))
    question = _question(state)
    if not state.given.offers.has(question):
        return _unresolved(state, ways[0]), Portion(questions=(question,))
    known = offered(state, question.words)
    further = _by_version(state, ways, known)
    if further.words and not state.given.offers.has(further):
        return _unresolved(state, ways[0]), Portion(questions=(further,))
    known = offered(state, (*question.words, *further.words))
    picked = _picked(state, known)
    if picked is None and (missing := renamed.missing(state.given)):
        return NOT_OURS, Portion(refusals=(renamed.not_offered(missing),))
    if picked is None:
        return NOT_OURS, Portion(refusals=(no_version(state, ways, known),))
    if stays is not None and stays.version == picked.version:
        return stays, Portion()
    choice = _resolved(state, picked, known)
    missing = _without_headers(state, picked, known)
    return choice, Portion(refusals=(headers_missing(state, missing),) if missing else ())


def _ways(state: Situation, version: str) -> tuple[PackageSet, ...]:
    return fitting_rows(state, state.given.profile.install, version.partition(".")[0])


def _picked(state: Situation, known: Offered) -> "_Picked | None":
    """The best version with the whole set, by the first row that has it."""
    for version in preferred(state, known.versions):
        for row in _ways(state, version):
            names = named(state, row, version)
            if not lacking(names, version, known):
                return _Picked(names, version)
    return None


def _resolved(state: Situation, picked: _Picked, known: Offered) -> DriverChoice:
    names, version = picked
    have = {one.name for one in state.driver if one.upstream == version}
    beside = () if have.issuperset(names.required) else tuple(one for one in names.beside if known.has(one, version))
    wanted = (*names.required, *beside)
    gone = removed(state, version, wanted, known)
    staying_ones = companions(state, version, gone, known)
    versioned = {one: known.by_version[one.partition(":")[0]][version] for one in (*wanted, *staying_ones)}
    for one in (*names.modules, *names.others, *names.later):
        if one in known.newest:
            versioned[one] = known.newest[one]
    versioned |= {one: at for one in names.metas if (at := known.following(one, _image(state, one), only=True))}
    return DriverChoice(
        wanted=True,
        origin=names.row.origin,
        flavour=state.flavour,
        delivery=names.row.delivery,
        branch=version.partition(".")[0],
        version=version,
        kernels=state.kernels,
        before=_before(state, names, known),
        packages=tuple(versioned.items()),
        removed=gone,
        pinned=PINNED,
    )


def _unresolved(state: Situation, row: PackageSet) -> DriverChoice:
    """The choice before repositories are asked: the names of the branch, without versions."""
    have = [one for one in versions_of(state.driver, state.origin, state.unused) if state.meets(one)]
    version = have[0] if have and not state.given.asked.upgrade else ""
    names = named(state, row, version or f"{state.branch}.")
    gone = removed(state, version or f"{state.branch}.", names.required, None)
    return DriverChoice(
        wanted=True,
        origin=row.origin,
        flavour=state.flavour,
        delivery=row.delivery,
        branch=(version or state.branch).partition(".")[0],
        kernels=state.kernels,
        before=_before(state, names, None),
        packages=tuple((one, "") for one in (*names.required, *names.modules)),
        removed=gone,
        pinned=PINNED,
    )


def _before(state: Situation, names: Named, known: "Offered | None") -> tuple[tuple[str, str], ...]:
    """Missing needs of DKMS: headers of each kernel, their metapackage, and DKMS, which brings the compiler."""
    if names.row.delivery != "dkms":
        return ()
    kernel = need(state.given.view.kernel)
    found: dict[str, str] = {}
    for release in state.kernels:
        wanted = headers(state.host, release, state.names)
        if not has_headers(kernel, release):
            found |= {name: version or (known.newest.get(name, "") if known else "") for name, version in wanted.exact}
        metas = (name for name in wanted.meta if known and name not in state.names)
        found |= {name: version for name in metas if known and (version := known.following(name, _image(state, name)))}
    if "dkms" not in state.names and known and "dkms" in known.newest:
        found["dkms"] = known.newest["dkms"]
    return tuple(found.items())


def _image(state: Situation, meta: str) -> str:
    """The version of the metapackage of the kernel itself that goes with this one, "" where none is installed."""
    ends = {f"linux-image-{flavour}": flavour for release in state.kernels if (flavour := meta_flavour(release, state.names))}
    return next((one.version for one in state.packages if meta.endswith(f"-{ends.get(one.name, '/')}")), "")


def _without_headers(state: Situation, picked: _Picked, known: Offered) -> tuple[str, ...]:
    """Kernels that DKMS has no headers of, and that no repository has."""
    if picked.names.row.delivery != "dkms":
        return ()
    kernel = need(state.given.view.kernel)
    lacks = [
        release
        for release in state.kernels
        if not has_headers(kernel, release)
        and not has_module(state.given.view, release, picked.version, state.flavour)
        and any(name not in known.newest and name not in state.names for name, _ in headers(state.host, release, state.names).exact)
    ]
    return tuple(lacks)


def _question(state: Situation) -> Question:
    """One question for all names: of each row, of the headers, and of installed packages."""
    branches = [state.branch, *(one.upstream.partition(".")[0] for one in state.driver if state.meets(one.upstream))]
    words: list[str] = []
    for branch in dict.fromkeys(branches):
        for row in _ways(state, branch):
            names = named(state, row, f"{branch}.")
            words += (
                names.all if not is_named_by_version(row, state.flavour) else (*names.required, *names.beside, *names.others, *names.later)
            )
    for release in state.kernels:
        wanted = headers(state.host, release, state.names)
        words += [*(name for name, _ in wanted.exact), *wanted.meta]
    words += [*(one.name for one in state.driver), "dkms"]
    return Question("candidates", tuple(sorted(set(words))))


def _by_version(state: Situation, ways: tuple[PackageSet, ...], known: Offered) -> Question:
    """The question for modules with the driver's version in their names, once versions are known. No words where there are none."""
    named_so = [row for row in ways if is_named_by_version(row, state.flavour)]
    tried = preferred(state, known.versions)[:_MOST_TRIED]
    words = {name for row in named_so for version in tried for name in named(state, row, version).modules}
    return Question("candidates", tuple(sorted(words)))


def _origin(given: Given) -> "str | Refusal":
    """The origin of the installed packages, else the profile's, else NVIDIA's repository. Raises ``UnreadError``."""
    found = installed_origins(given.view)
    policy = given.profile.install
    if len(found) > 1:
        return two_origins(given)
    if found and policy.origin not in ("auto", found[0]):
        return origin_crossed(found[0], policy.origin)
    if found:
        return found[0]
    if policy.origin != "auto":
        return policy.origin
    if origin := renamed.origin(given.asked.renamed):
        return origin
    if policy.delivery == "precompiled":
        ways = package_sets(host_of(given.view), "auto", "precompiled", wish(given.profile.driver.install).branch)
        return ways[0].origin if ways else "cuda"
    return "cuda"
