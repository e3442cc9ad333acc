"""The runtime's version could not be read, and an older one that it may be would read its configuration otherwise.

The rest of the report uses the newest known rules. An older version may ignore the tables that give containers a GPU,
or refuse the file.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.profile import Profile

from ._choice import skip_unserving


@check(
    title="The runtime's version leaves no question open",
    severity="warning",
    since="0.1",
    headline="The version of {device} is not known, and it matters",
    remedy=(
        Step(
            "rerun", "See which version the runtime's program prints, and 'containerd config dump' or 'docker info' for what is in force."
        ),
    ),
    references=("containerd, CRI Plugin Config Guide",),
    confirm=("containerd --version; dockerd --version; crio --version",),
)
def version_matters(runtime: Runtime, runtimes: tuple[Runtime, ...], launchers: Launchers, profile: Profile) -> Findings:
    skip_unserving(runtime, runtimes, launchers, profile)
    if need(runtime.judged_as) == "older-differs":
        yield fail(
            "an older version would read its files otherwise", code="unknown-version", found="an unknown version", wanted="a known one"
        )
