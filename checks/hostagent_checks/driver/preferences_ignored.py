"""A file of apt preferences that should pin NVIDIA's packages has a name that apt ignores.

apt reads files of preferences.d whose name has no ending or ends in .pref, of letters, digits, hyphens, underscores and
dots. It ignores any other with a notice that nobody sees, and nothing is pinned.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.packages import Packages


@check(
    title="apt reads every file of preferences that names NVIDIA",
    severity="warning",
    since="0.1",
    headline="apt does not read a file of preferences that names NVIDIA",
    remedy=(Step("configure", "Rename the file so that it ends in .pref, then look for the pin in 'apt-cache policy'."),),
    references=("apt_preferences(5), section Description",),
    confirm=(
        "ls -l /etc/apt/preferences.d",
        "apt-cache policy <package>",
    ),
)
def preferences_ignored(packages: Packages) -> Findings:
    for file in need(packages.ignored_preferences):
        yield fail(f"apt ignores {file}", code="ignored", found=file, wanted="a name without an ending, or ending in .pref")
