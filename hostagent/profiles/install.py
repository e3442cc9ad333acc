"""What a profile says of an installation."""

from dataclasses import field
from typing import Literal

from hostagent.facts.frozen import frozen


@frozen
class RepositoryPolicy:
    """A mirror. ``url`` "" is NVIDIA's own; ``file:`` is a path of the target. ``key``: a keyring file where hostagent runs."""

    url: str = ""
    key: str = ""


@frozen
class RepositoriesPolicy:
    cuda: RepositoryPolicy = field(default_factory=RepositoryPolicy)
    toolkit: RepositoryPolicy = field(default_factory=RepositoryPolicy)


@frozen
class InstallPolicy:
    """How `hostagent install` does what ``driver.install`` and ``toolkit.install`` name.

    ``origin`` auto: where the driver comes from already, else NVIDIA's repository. ``before`` and ``after``: programs with their
    arguments that run before the first change (one that fails refuses the run) and after the last (drain, uncordon).
    """

    origin: Literal["auto", "cuda", "distribution"]
    delivery: Literal["auto", "precompiled", "dkms"]
    packages: Literal["compute", "full"]
    hold: bool
    allow_kernel: bool
    restart: Literal["auto", "always", "never"]
    lock_timeout_s: int
    before: tuple[tuple[str, ...], ...]
    after: tuple[tuple[str, ...], ...]
    repositories: RepositoriesPolicy
