"""A file of apt preferences that should pin NVIDIA's packages has a name that apt ignores.

apt reads files of preferences.d whose name has no ending or ends in .pref, of letters, digits, hyphens, underscores and
dots. It ignores any other with a notice that nobody sees, and nothing is pinned.
"""

import re

from hostagent.check import Findings, Step, check, fail, need, shell
from hostagent.facts.packages import Packages


@check(
    title="apt reads every preferences file that names NVIDIA",
    severity="warning",
    since="0.1",
    headline="apt ignores a preferences file that names NVIDIA",
    remedy=(Step("configure", "Rename the file so that it ends in .pref."),),
    references=("apt_preferences(5), section Description",),
    confirm=(
        "ls -l /etc/apt/preferences.d",
        "apt-cache policy <package>",
    ),
)
def preferences_ignored(packages: Packages) -> Findings:
    for file in need(packages.ignored_preferences):
        folder, _, name = file.rpartition("/")
        better = f"{folder}/{re.sub(r'[^A-Za-z0-9_-]', '-', name)}.pref"
        steps = (Step("configure", "Rename the file so that apt reads it.", shell("mv {} {}", file, better)),)
        text = f"apt ignores {file} because of its name"
        yield fail(text, code="ignored", found=file, wanted="a name without an ending, or ending in .pref", remedy=steps)
