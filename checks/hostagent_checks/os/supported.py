"""NVIDIA publishes no driver packages for this distribution or version.

What runs today may go on running, but a security fix of the driver or of the toolkit will not arrive as a package, and
NVIDIA publishes no packages for it. Move the node to a listed version before the next driver upgrade is due.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.os import Os
from hostagent.facts.platform import Platform
from hostagent.knowledge.os import DISTRIBUTIONS, repository, versions


@check(
    title="NVIDIA publishes packages for this distribution",
    severity="warning",
    since="0.1",
    remedy="Move the node to a distribution that NVIDIA has a repository for: 'hostagent checks show os.supported' lists them.",
    references=("NVIDIA Driver Installation Guide, supported distributions", "os-release(5)"),
)
def supported(os: Os, platform: Platform) -> Findings:
    distribution = need(os.id)
    if need(platform.base) == "guest" or (need(platform.base) == "managed" and not versions(distribution)):
        skip(f"{need(platform.name)} brings the driver")
    if not versions(distribution):
        known = ", ".join(one.id for one in DISTRIBUTIONS)
        yield fail(f"distribution {distribution}, wanted one of {known}", code="other-distribution", found=distribution, wanted=known)
        return
    version = need(os.version_id)
    if not repository(distribution, version):
        wanted = ", ".join(versions(distribution))
        yield fail(f"{distribution} {version}, wanted one of {wanted}", code="other-version", found=version, wanted=wanted)
