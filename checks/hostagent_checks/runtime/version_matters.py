"""The runtime's version could not be read, and an older version would read its configuration differently.

The rest of the report uses the newest rules that are known. An older version may ignore the tables that give containers a GPU,
or refuse the file.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime

from ._choice import skip_unserving


@check(
    title="The runtime's version is known where it matters",
    severity="warning",
    since="0.1",
    headline="The version of {device} is not known, and it matters",
    remedy=(Step("rerun", "Find out the runtime's version, and what it uses: 'containerd config dump', 'docker info'."),),
    references=("containerd, CRI Plugin Config Guide",),
    confirm=("containerd --version; dockerd --version; crio --version",),
)
def version_matters(runtime: Runtime, choice: RuntimeChoice) -> Findings:
    skip_unserving(runtime, choice)
    if need(runtime.judged_as) == "older-differs":
        text = f"an older {runtime.key} would read its configuration differently"
        yield fail(text, code="unknown-version", found="an unknown version", wanted="a known one")
