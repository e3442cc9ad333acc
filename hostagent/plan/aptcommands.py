"""argv of apt and dpkg: the same for the simulation, the download and the transaction.

Sources: apt-get(8), apt.conf(5), apt-mark(8), dpkg(1), tried with apt 2.6 and 3.0. They run without questions: a changed configuration
file stays as the administrator has it. Options precede the verb, so that simulation and transaction differ by one word.
"""

from collections.abc import Iterable

Versions = Iterable[tuple[str, str]]

_SIMULATE, _DOWNLOAD, _REINSTALL = "--simulate", "--download-only", "--reinstall"


def options(lock_timeout_s: int) -> tuple[str, ...]:
    return (
        *("apt-get", "-y", "-q"),
        *("-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"),
        *("-o", f"DPkg::Lock::Timeout={lock_timeout_s}"),
    )


def install(versions: Versions, removed: Iterable[str], lock_timeout_s: int) -> tuple[str, ...]:
    """One transaction: each package at its version, the highest one where that is "", without the packages of `removed`.

    Holds do not forbid it and are lifted by it: the caller restores them.

    >>> install([("nvidia-modprobe", "580.142-1")], ["nvidia-dkms-570"], 120)[-4:]
    ('--allow-change-held-packages', 'install', 'nvidia-modprobe=580.142-1', 'nvidia-dkms-570-')
    """
    allowed = ("--no-install-recommends", "--allow-downgrades", "--allow-change-held-packages")
    words = (f"{name}={version}" if version else name for name, version in versions)
    return (*options(lock_timeout_s), *allowed, "install", *words, *(f"{name}-" for name in removed))


def reinstall(versions: Versions, removed: Iterable[str], lock_timeout_s: int) -> tuple[str, ...]:
    """The same, also for packages at their version already: their scripts run again."""
    return _with(_REINSTALL, install(versions, removed, lock_timeout_s))


def simulated(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Simulates `argv`, and changes nothing."""
    return _with(_SIMULATE, argv)


def downloaded(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Downloads the packages of `argv`, and installs none.

    >>> downloaded(install([("dkms", "")], (), 120))[-3:]
    ('--download-only', 'install', 'dkms')
    """
    return _with(_DOWNLOAD, argv)


def refresh(lock_timeout_s: int) -> tuple[str, ...]:
    """Reads the repositories; fails where one cannot be read, instead of using the lists of an earlier refresh."""
    return (*options(lock_timeout_s), "-o", "APT::Update::Error-Mode=any", "update")


def hold(names: Iterable[str]) -> tuple[str, ...]:
    return ("apt-mark", "hold", *names)


def unhold(names: Iterable[str]) -> tuple[str, ...]:
    return ("apt-mark", "unhold", *names)


def configure() -> tuple[str, ...]:
    """Completes an interrupted run of dpkg."""
    return ("dpkg", "--force-confdef", "--force-confold", "--configure", "-a")


def fix_broken(lock_timeout_s: int) -> tuple[str, ...]:
    """Completes dependencies that an interrupted run left unmet."""
    return (*options(lock_timeout_s), "--no-install-recommends", "--fix-broken", "install")


def _with(word: str, argv: tuple[str, ...]) -> tuple[str, ...]:
    at = argv.index("install")
    return (*argv[:at], word, *argv[at:])
