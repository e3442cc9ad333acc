"""Two toolkits: the host's packages and the copy that the GPU Operator puts below /usr/local/nvidia/toolkit.

Both write the same drop-in of the runtime's configuration. Whichever ran last decides which of the two starts containers, so an
upgrade of the other changes nothing, and removing one leaves a runtime entry that points nowhere.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.toolkit import Toolkit
from hostagent.profile import Profile

_OTHER = (
    Step("configure", "If the GPU Operator is to own the toolkit, set 'toolkit.owner: container' in the profile."),
    Step("install", "If not, set toolkit.enabled=false in the GPU Operator, and install the host's packages."),
)


@check(
    title="The toolkit has one owner",
    severity="warning",
    part="",
    since="0.1",
    headline="The toolkit has two owners: packages of the host and the GPU Operator",
    remedy=(Step("contact_owner", "Keep one: set toolkit.enabled=false in the GPU Operator, or remove the host's packages."),),
    references=("NVIDIA GPU Operator, Installing: common chart customization options",),
    confirm=(
        "ls -l /usr/local/nvidia/toolkit",
        "dpkg -l '*nvidia-container*'  # Debian, Ubuntu",
        "rpm -qa '*nvidia-container*'  # RHEL, SUSE",
    ),
)
def operator_owner(toolkit: Toolkit, profile: Profile) -> Findings:
    operators = need(toolkit.operator_version)
    packages = need(toolkit.packages)
    if not operators and not packages:
        skip("no toolkit is installed")
    if operators and packages:
        yield fail(
            "the host and the GPU Operator both have a toolkit",
            code="two-owners",
            found=f"packages, and the GPU Operator's {operators}",
            wanted="one" if profile.toolkit.owner == "any" else f"one, owned by the {profile.toolkit.owner}",
        )
    elif operators and profile.toolkit.owner == "host":
        found = f"the GPU Operator's {operators}"
        headline = "The GPU Operator owns the toolkit, the profile names the host"
        text = "the GPU Operator owns the toolkit, the profile names the host"
        yield fail(text, code="other-owner", found=found, wanted="the host's", remedy=_OTHER, headline=headline)
