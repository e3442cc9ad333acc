"""argv of dnf, zypper and tdnf, with versions as rpm prints them (version-release).

Sources: dnf(8) and its versionlock plugin, zypper(8), tdnf's own help; NVIDIA Driver Installation Guide, release 620. Read 2026-11.
"""

from collections.abc import Iterable

Versions = Iterable[tuple[str, str]]


def install(program: str, versions: Versions, removed: Iterable[str]) -> tuple[str, ...]:
    """One transaction, as in `hostagent.plan.aptcommands.install`. dnf removes packages that conflict with the new ones by itself
    (``--allowerasing``), tdnf those that they obsolete: neither has a syntax for removals in the same transaction.

    >>> install("dnf", [("kmod-nvidia-open-dkms", "3:580.142-1.el9")], ())[-2:]
    ('install', 'kmod-nvidia-open-dkms-3:580.142-1.el9')
    >>> install("zypper", [("nvidia-persistenced", "580.142-1")], ["nvidia-compute-G05"])[-2:]
    ('nvidia-persistenced=580.142-1', '-nvidia-compute-G05')
    """
    if program == "zypper":
        named = (f"{name}={version}" if version else name for name, version in versions)
        wishes = ("--no-recommends", "--oldpackage", "--auto-agree-with-licenses")
        return (*_zypper(), "install", *wishes, *named, *(f"-{one}" for one in removed))
    words = (f"{name}-{version}" if version else name for name, version in versions)
    if program == "tdnf":
        return ("tdnf", "-y", "install", *words)
    options = ("--setopt=install_weak_deps=False", "--allowerasing")
    return ("dnf", "-y", *options, "install", *words)


def reinstall(program: str, versions: Versions) -> tuple[str, ...]:
    """For packages at their version already: their scripts run again."""
    if program == "zypper":
        return (*_zypper(), "install", "--force", *(f"{name}={version}" if version else name for name, version in versions))
    return (program, "-y", "reinstall", *(f"{name}-{version}" if version else name for name, version in versions))


def downloaded(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Downloads the packages of `argv`, and installs none."""
    word = "--download-only" if argv[0] == "zypper" else "--downloadonly"
    verb = "reinstall" if "reinstall" in argv else "install"
    at = argv.index(verb) + (argv[0] == "zypper")
    return (*argv[:at], word, *argv[at:])


def refresh(program: str) -> tuple[str, ...]:
    return (*_zypper(), "refresh", "--force") if program == "zypper" else (program, "-y", "--refresh", "makecache")


def hold(program: str, names: Iterable[str]) -> tuple[str, ...]:
    """() where the package manager has no command for it: tdnf's locks are a file."""
    if program == "zypper":
        return (*_zypper(), "addlock", *names)
    return ("dnf", "-y", "versionlock", "add", *names) if program == "dnf" else ()


def unhold(program: str, names: Iterable[str]) -> tuple[str, ...]:
    if program == "zypper":
        return (*_zypper(), "removelock", *names)
    return ("dnf", "-y", "versionlock", "delete", *names) if program == "dnf" else ()


def _zypper() -> tuple[str, ...]:
    return ("zypper", "--non-interactive")
