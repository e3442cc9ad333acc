"""The toolkit cannot read its config.toml: the nvidia runtime refuses every container.

`nvidia-container-runtime` and its hook read /etc/nvidia-container-runtime/config.toml at each container start and exit with
an error if it is not TOML or names a mode that they do not know.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.toolkit import Toolkit

_MODES = ("auto", "cdi", "csv", "jit-cdi", "legacy")


@check(
    title="The toolkit's configuration can be read",
    severity="critical",
    since="0.1",
    headline="The toolkit's configuration cannot be read",
    remedy=(
        Step(
            "configure",
            "Correct the file, or write a new one.",
            command="nvidia-ctk config default --output=/etc/nvidia-container-runtime/config.toml",
        ),
    ),
    references=("NVIDIA Container Toolkit, Configuring the NVIDIA Container Runtime",),
    confirm=("nvidia-ctk config >/dev/null  # names the line that it cannot read",),
)
def config_valid(toolkit: Toolkit) -> Findings:
    path = need(toolkit.config_path)
    if error := need(toolkit.config_error):
        yield fail(f"the toolkit cannot read {path}", code="unreadable", found=error, wanted="TOML of the toolkit")
    elif (mode := need(toolkit.mode)) not in _MODES:
        text = f"{path} names the mode {mode}, which does not exist"
        headline = "The toolkit's configuration names a mode that does not exist"
        yield fail(text, code="unknown-mode", found=mode, wanted=", ".join(_MODES), headline=headline)
