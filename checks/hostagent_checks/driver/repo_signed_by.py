"""Two apt sources name one repository with different keys: apt reads neither, and every update on this host fails.

The message is "Conflicting values set for option Signed-By". Old list files of the toolkit (libnvidia-container.list,
nvidia-docker.list, nvidia-container-runtime.list) next to the present one are the usual cause.
"""

from itertools import combinations

from hostagent.check import Findings, Step, check, fail
from hostagent.facts.packages import Packages

from ._sources import enabled_sources


@check(
    title="Each NVIDIA repository has one key",
    severity="warning",
    since="0.1",
    headline="Two apt sources give an NVIDIA repository different keys",
    remedy=(
        Step("configure", "Remove one of the two files: keep the one that NVIDIA's current guide describes."),
        Step("rerun", "Read the packages' index again.", command="apt-get update"),
    ),
    references=("NVIDIA Container Toolkit, Troubleshooting: conflicting values set for option Signed-By",),
    confirm=("grep -rn -i signed-by /etc/apt/sources.list /etc/apt/sources.list.d",),
)
def repo_signed_by(packages: Packages) -> Findings:
    sources = enabled_sources(packages)
    for one, other in combinations(sources, 2):
        if (one.uri, one.suite) == (other.uri, other.suite) and one.signed_by != other.signed_by:
            found = f"{one.file}: {one.signed_by or 'no key'}; {other.file}: {other.signed_by or 'no key'}"
            yield fail(f"{one.file} and {other.file} give {one.uri} different keys", code="conflict", found=found, wanted="one key")
