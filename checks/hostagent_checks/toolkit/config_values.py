"""A value of the toolkit's config.toml stops containers as they start, or takes their GPUs away.

The file is read at each start. ``ldconfig`` must begin with @, which says that it is the host's own: newer versions refuse any other.
``root`` is where the driver is: a host that went from the GPU Operator's driver container to packages, or the other way, keeps the old
one. ``runtimes`` are the programs that the nvidia runtime starts below it, of which one must be there. ``no-cgroups`` is for rootless
containers: in others the legacy path then gives devices that cannot be opened. Within a container (LXC, Incus) it has to be
set, because nobody there may change device cgroups.
"""

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need, shell, skip, warn
from hostagent.domains.runtime.tables.toolkit_advisories import OWN_LDCONFIG, generates_cdi, refuses_other_ldconfig
from hostagent.facts.driver import CONTAINER_ROOT, Driver
from hostagent.facts.platform import Platform
from hostagent.facts.runtime import Runtime
from hostagent.facts.toolkit import Toolkit
from hostagent.profile import Profile

from ._host import skip_unneeded

_CONTAINER_ROOT = CONTAINER_ROOT.rstrip("/")
_SET = "nvidia-ctk config --in-place --set"


@check(
    title="The values of the toolkit's configuration suit this host",
    severity="critical",
    since="0.1",
    because=("toolkit.config_valid",),
    headline="A value of the toolkit's configuration stops containers",
    remedy=(Step("configure", "Correct the named value in /etc/nvidia-container-runtime/config.toml."),),
    references=(
        "NVIDIA Container Toolkit issues 381 and 830",
        "NVIDIA Container Toolkit, Configuring the NVIDIA Container Runtime",
        "NVIDIA GPU Operator, Installing: pre-installed NVIDIA Container Toolkit",
    ),
    confirm=("nvidia-ctk config",),
)
def config_values(
    toolkit: Toolkit, driver: Driver, platform: Platform, runtimes: tuple[Runtime, ...] | Unread, profile: Profile
) -> Findings:
    skip_unneeded(profile)
    ldconfig = need(toolkit.ldconfig)
    if not need(toolkit.packages) and not need(toolkit.binaries):
        skip("the toolkit that reads this file is not installed")
    yield from _ldconfig(ldconfig, toolkit)
    if _starts_below(runtimes) and not need(toolkit.runtimes_found):
        runtimes_named = first_of(need(toolkit.runtimes))
        yield fail(
            f"none of the programs that the nvidia runtime starts exists: {runtimes_named}",
            code="no-runtime",
            found=need(toolkit.runtimes),
            wanted="one that is installed",
        )
    if need(toolkit.no_cgroups) and not platform.in_container:
        is_legacy = need(toolkit.mode) == "legacy" or not generates_cdi(need(toolkit.version))
        yield (fail if is_legacy else warn)(
            "no-cgroups = true, so containers of root cannot open their devices",
            code="no-cgroups",
            found="no-cgroups = true",
            wanted="no-cgroups = false",
            remedy=(
                Step(
                    "configure",
                    "Set the value; rootless containers need a file of their own, with true.",
                    command=f"{_SET} nvidia-container-cli.no-cgroups=false",
                ),
            ),
        )
    yield from _root(toolkit, driver)


def _ldconfig(ldconfig: str, toolkit: Toolkit) -> Findings:
    wanted = f"@{ldconfig}" if ldconfig else OWN_LDCONFIG
    if not ldconfig.startswith("@") and not need(toolkit.allows_any_ldconfig) and refuses_other_ldconfig(need(toolkit.version)):
        yield fail(
            f"ldconfig is {ldconfig or 'empty'}, not the host's own, which begins with @",
            code="ldconfig",
            found=ldconfig or "an empty text",
            wanted=wanted,
            remedy=(Step("configure", "Set the value.", shell(f"{_SET} nvidia-container-cli.ldconfig={{}}", wanted)),),
        )


def _starts_below(runtimes: "tuple[Runtime, ...] | Unread") -> bool:
    """Whether a runtime may start NVIDIA's, which starts one of those; Enroot and Docker's hook do without."""
    return isinstance(runtimes, Unread) or any(isinstance(one.nvidia_handlers, Unread) or one.nvidia_handlers for one in runtimes)


def _root(toolkit: Toolkit, driver: Driver) -> Findings:
    root = need(toolkit.root).rstrip("/")
    paths = [one.path for one in need(driver.libraries) if one.soname == "libcuda.so.1"]
    inside = [path for path in paths if path.startswith(CONTAINER_ROOT)]
    if paths and root == _CONTAINER_ROOT and not inside:
        yield fail(
            f"root is {root}, but there is no driver container",
            code="root",
            found=root,
            wanted="the host's own root",
            remedy=(Step("configure", "Set the value.", command=f"{_SET} nvidia-container-cli.root=/"),),
        )
    elif paths and not root and len(inside) == len(paths):
        yield fail(
            "root is the host's own, but the driver is in a container",
            code="root",
            found="the host's own",
            wanted=_CONTAINER_ROOT,
            remedy=(Step("configure", "Set the value.", command=f"{_SET} nvidia-container-cli.root={_CONTAINER_ROOT}"),),
        )
