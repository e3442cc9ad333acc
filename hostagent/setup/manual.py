"""The script's output where it does not install, word for word, because callers may search for it.

Two things are left out: Docker where the backend needs none, and a tip about other skills that 7.0 ends with.
"""

from hostagent.setup import tao
from hostagent.setup.distribution import Distribution
from hostagent.setup.hints import CUDA_GUIDE, TOOLKIT_GUIDE
from hostagent.setup.request import Request

#: Where it may not install, and the caller cannot become root without a password.
NO_ROOT = "MISSING: passwordless sudo/root is required for runtime installation."
ABORTED = "Aborted."
_GUIDES = (
    ("CUDA install guide (all distros)", CUDA_GUIDE),
    ("NVIDIA Container Toolkit install guide", TOOLKIT_GUIDE),
    ("Docker engine install guide (per distro)", "https://docs.docker.com/engine/install/"),
)
_MODEL = (
    "The selected model's runtime requirements take precedence over the TAO-wide",
    "defaults. Rerun with the same --min-*-version flags after manual installation.",
)


def by_hand(request: Request, system: Distribution) -> tuple[str, ...]:
    """For a distribution of another family: the requirements, and the documentation for them."""
    driver, cuda, toolkit = request.minimums
    is_exact = request.generation == "A"
    package = request.names(system.family).cuda or tao.CUDA_PACKAGE.format(cuda.replace(".", "-"))
    model = () if is_exact else ("", *_MODEL)
    return (
        "ERROR: --install does not yet automate this distribution.",
        f"       Detected: {system.title or 'unknown'} (family={system.family})",
        "",
        "Install these manually using your distribution's package manager, then rerun",
        "this script with --check-only to verify:",
        "",
        f"  - NVIDIA driver {'branch' if is_exact else '>='} {driver} (open kernel module preferred)",
        f"  - CUDA Toolkit {'' if is_exact else '>= '}{cuda} (NVIDIA package: {package})",
        f"  - NVIDIA Container Toolkit {'' if is_exact else '>= '}{toolkit}",
        *(("  - Docker engine (any flavor)",) if request.wants_docker else ()),
        "",
        "NVIDIA documentation:",
        *(line for name, address in _GUIDES for line in (f"  - {name}:", f"      {address}")),
        *model,
    )
