"""apt refuses the signature of the CUDA repository: no fix and no pinned version can be installed from it any more.

The older of NVIDIA's two keys carries a SHA-1 signature. apt 3 checks with sqv, whose policy refuses SHA-1 since 2026-02-01:
"SHA1 is not considered secure". It happens where a repository of an older distribution (Debian 12, Ubuntu 24.04 or before) is used on
a newer one. `trusted=yes` is no way out: it takes whatever the network delivers.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.domains.packages.tables.names import CUDA_KEY_SUCCESSOR, CUDA_KEY_WITH_SHA1, prefers_sqv
from hostagent.facts.packages import AptSource, Packages

from ._sources import enabled_sources


@check(
    title="apt accepts the signatures of NVIDIA's repositories",
    severity="warning",
    since="0.1",
    headline="apt does not accept the signatures of NVIDIA's repository",
    remedy=(
        Step("configure", "Install the cuda-keyring package of this distribution's own release."),
        Step("rerun", "Read the packages' index again.", command="apt-get update"),
    ),
    references=("NVIDIA cuda-repo-management issues 30, 34, 39, 44", "sources.list(5), option Trusted"),
    confirm=(
        "apt-get update  # 'NO_PUBKEY' or 'is not signed'",
        "grep -rn -i nvidia /etc/apt/sources.list /etc/apt/sources.list.d",
    ),
)
def repo_key(packages: Packages) -> Findings:
    sources = enabled_sources(packages)
    for one in sources:
        if one.trusted:
            steps = (
                Step("configure", f"Take 'trusted=yes' out of {one.file}."),
                Step("rerun", "Read the packages' index again.", "apt-get update"),
            )
            headline, text = "apt takes unsigned packages from NVIDIA's repository", f"{one.file} says trusted=yes: apt checks no signature"
            yield fail(text, code="trusted", found="trusted=yes", wanted="a signature", remedy=steps, headline=headline)
    refuses = need(packages.apt_sqv) and prefers_sqv(need(packages.apt_version))
    keys = need(packages.apt_keys)
    for one in sources:
        mine = [key for file, key in keys if not one.signed_by or file in one.signed_by]
        if refuses and _is_cuda(one) and CUDA_KEY_WITH_SHA1 in mine and not any(key.endswith(CUDA_KEY_SUCCESSOR) for key in mine):
            found = f"key {CUDA_KEY_WITH_SHA1} for {one.uri}"
            yield fail(
                f"apt refuses the key of {one.uri}: its signature is SHA-1",
                code="sha1",
                found=found,
                wanted=f"a key like …{CUDA_KEY_SUCCESSOR}",
            )


def _is_cuda(source: AptSource) -> bool:
    return "/cuda/repos/" in source.uri
