"""The runtimes refuse a CDI file: none of its devices exist for them, and the error is in their log alone.

The message a user sees is "unresolvable CDI devices". A half-written file, an edit by hand and a file that uses more than the
version it declares are the usual causes.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, shell, skip, warn
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.domains.runtime.tables.cdi_versions import RENEW
from hostagent.facts.cdi import Cdi
from hostagent.facts.gpu import Gpu
from hostagent.profile import Profile

from ._specs import others_cover, read_ones, skip_without_cdi


@check(
    title="Every CDI specification can be read",
    severity="critical",
    since="0.1",
    headline="The runtimes refuse a CDI specification",
    remedy=(
        Step("configure", "Remove the file.", command="rm <file>"),
        RENEW,
    ),
    references=("CDI specification, SPEC.md", "CDI library, spec.go"),
    confirm=("nvidia-ctk cdi list  # names the file that it cannot read",),
)
def spec_valid(cdi: Cdi, gpus: tuple[Gpu, ...] | Unread, choice: RuntimeChoice, profile: Profile) -> Findings:
    specs = need(cdi.specs)
    skip_without_cdi(profile)
    if not specs:
        skip("no CDI specification of NVIDIA's")
    for spec in read_ones(specs, choice):
        if spec.error:
            say = warn if others_cover(spec, specs, gpus, cdi) else fail
            yield say(
                f"{spec.path}: {spec.error}",
                code="invalid",
                found=spec.error,
                wanted="a CDI specification",
                evidence=(spec.path,),
                remedy=(Step("configure", "Remove the file.", shell("rm {}", spec.path)), RENEW),
            )
