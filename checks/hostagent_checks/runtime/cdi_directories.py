"""The runtime looks for CDI specifications elsewhere: "unresolvable CDI devices nvidia.com/gpu=0".

The toolkit writes its specification to /var/run/cdi. A runtime whose cdi_spec_dirs was set to other directories never sees it.
"""

from hostagent.check import Findings, Step, check, fail, first_of, need, skip
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Runtime

from ._choice import skip_unserving
from ._steps import restart

_ADD = Step("configure", "Add /var/run/cdi and /etc/cdi to cdi_spec_dirs (in Docker: cdi-spec-dirs).")


@check(
    title="The runtime reads the directory of NVIDIA's CDI specification",
    severity="warning",
    since="0.1",
    headline="{device} does not read the directory of NVIDIA's CDI specification",
    remedy=(
        _ADD,
        Step("restart_service", "Restart the runtime."),
    ),
    references=("NVIDIA Container Toolkit, Support for Container Device Interface",),
    confirm=(
        "containerd config dump | grep -n cdi_spec_dirs",
        "docker info  # 'CDI spec directories'",
        "crio status config | grep -A3 cdi",
    ),
)
def cdi_directories(runtime: Runtime, choice: RuntimeChoice, cdi: Cdi) -> Findings:
    skip_unserving(runtime, choice)
    if not need(runtime.cdi_enabled):
        skip(f"CDI is off in {runtime.key}")
    folders = {spec.path.rpartition("/")[0].replace("/var/run/", "/run/") for spec in need(cdi.specs) if not spec.error}
    if not folders:
        skip("NVIDIA has no CDI specification here")
    read = {folder.rstrip("/").replace("/var/run/", "/run/") for folder in need(runtime.cdi_spec_dirs)}
    if not folders & read:
        steps = (_ADD, restart(runtime))
        text = f"{runtime.key} does not read {first_of(sorted(folders))}"
        yield fail(text, code="not-read", found=tuple(sorted(read)), wanted=tuple(sorted(folders)), remedy=steps)
