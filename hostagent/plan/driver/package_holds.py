"""Holds: lifted by the transaction, restored at the new version."""

# A transaction of apt lifts the hold of each package it moves (dpkg sets the selection to install, also by --reinstall), so a
# hold's probe is true only once the package is at its version. unattended-upgrades leaves held packages alone, so its blacklist
# is not written.

from hostagent.domains.driver.tables.packages import meta_flavour, module_stream
from hostagent.domains.packages.tables.names import TOOLKIT_PACKAGES, driver_part
from hostagent.plan.driver import probes
from hostagent.plan.driver.announced import held_before, moved, moved_driver, transactions
from hostagent.plan.driver.installed import driver_of, packages_of
from hostagent.plan.driver.situation import host_of
from hostagent.plan.model import DriverChoice, Given, PlanStep, Probe, Run, Undo, Write
from hostagent.plan.transactions import Commands
from hostagent.plan.view import View

_TDNF_LOCKS = "/etc/tdnf/locks.d/hostagent-driver.conf"


def hold_step(given: Given, choice: DriverChoice, commands: Commands) -> "PlanStep | None":
    """None where the profile holds nothing and nothing was held. Raises ``UnreadError``."""
    names = _names(given, choice, commands) if given.profile.install.hold else frozenset[str]()
    names |= _lifted(given, choice, commands)
    if not names:
        return None
    hold = given.profile.install.hold
    argv = commands.hold(sorted(names))
    do = Run(argv) if argv else Write(_TDNF_LOCKS, "".join(f"{name}\n" for name in sorted(names)), keys=tuple(sorted(names)))
    return PlanStep(
        "driver.hold",
        "driver",
        "hold",
        f"Hold {len(names)} packages of the driver at their version",
        "an upgrade would replace the libraries while the old module stays loaded" if hold else "they were held before",
        Probe(
            "every package of the driver is held" if hold else f"{', '.join(sorted(names))} are held again",
            lambda view: probes.packages_there(view, choice) and _are_held(view, names, choice.version if hold else ""),
        ),
        (do,),
        Undo("marks"),
        ("driver.package_held", "driver.unattended_upgrades"),
    )


def _are_held(view: View, names: "frozenset[str]", version: str) -> bool:
    """`version` "": the names alone. Raises ``UnreadError``."""
    return probes.all_held(view, names, version) if version else probes.these_held(view, names)


def _lifted(given: Given, choice: DriverChoice, commands: Commands) -> "frozenset[str]":
    """Packages with a hold, now or before an unfinished run, that a transaction moves, which lifts it. Raises ``UnreadError``."""
    argvs = transactions(commands, choice, given.view)
    gone = {name.partition(":")[0] for name in choice.removed}
    names = {name.partition(":")[0] for name, _ in (*choice.before, *choice.packages)} | moved(given, argvs)
    return (held_before(given) & (names | set(given.asked.held))) - gone - set(TOOLKIT_PACKAGES)


def _names(given: Given, choice: DriverChoice, commands: Commands) -> "frozenset[str]":
    """Packages after the plan: those of the transactions, and installed ones that stay. With signed modules the kernel's metapackages too:
    else the kernel moves on to one without a module.
    """
    argvs = transactions(commands, choice, given.view)
    have = packages_of(given.view)
    gone = {name.partition(":")[0] for name in choice.removed}
    names = {name.partition(":")[0] for name, _ in choice.packages} | moved_driver(given, argvs)
    names |= {one.name for one in driver_of(have) if one.name not in gone and one.upstream == choice.version}
    if module_stream(host_of(given.view), choice.branch, choice.flavour, choice.delivery) and choice.origin == "cuda":
        names = {name for name in names if driver_part(name) in probes.OUTSIDE_THE_MODULE}
    if choice.delivery == "precompiled" and commands.is_apt:
        installed = frozenset(one.name for one in have)
        flavours = {meta_flavour(release, installed) for release in choice.kernels} - {""}
        metas = {f"linux-{middle}{flavour}" for flavour in flavours for middle in ("", "image-", "headers-", "modules-extra-")}
        names |= metas & installed
    return frozenset(names)
