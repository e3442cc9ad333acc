"""Offers of the driver for made hosts, answered as a package manager answers, and the host after a plan was carried out."""

from dataclasses import replace

from hostagent.domains.packages.tables.names import driver_part
from hostagent.facts.driver import Library
from hostagent.facts.installation import ConfigFile, InstalledPackage
from hostagent.facts.packages import Package
from hostagent.facts.version import upstream
from hostagent.plan.driver import choose, driver_steps
from hostagent.plan.model import Asked, Given, Write
from hostagent.plan.offers import Candidate, Moved, Offers, Transaction
from hostagent.profiles import profile
from tests.plan_hosts import made_view

CUDA = "https://developer.download.nvidia.com/compute/cuda/repos/x/x86_64/"
ARCHIVE = "http://archive.example.org/dist/"


def offer(*names, versions, url=CUDA, revision="-1"):
    """Rows for `offers_of`: each name at each version."""
    return [(name, f"{version}{revision}", url) for name in names for version in versions]


def ubuntu_cuda(branch, *versions, but=()):
    """NVIDIA's repository for Ubuntu before the rename."""
    plain = ("nvidia-modprobe", "nvidia-fabricmanager", "libnvidia-nscq", "libnvsdm", "nvidia-imex")
    of_branch = (f"libnvidia-compute-{branch}", f"nvidia-utils-{branch}", f"nvidia-compute-utils-{branch}", f"nvidia-dkms-{branch}-open")
    named = [name for name in (*of_branch, f"nvidia-dkms-{branch}", f"nvidia-driver-{branch}-open", *plain) if name not in but]
    return [
        *offer(*named, versions=versions, revision="-1ubuntu1"),
        *offer("nvidia-open", "cuda-drivers", versions=versions),
        *offer("nvlsm", versions=("2025.10.12",)),
        *offer("infiniband-diags", versions=("50.0",), url=ARCHIVE),
    ]


def debian_cuda(*versions, but=()):
    names = ("nvidia-driver-cuda", "nvidia-kernel-open-dkms", "nvidia-kernel-dkms", "nvidia-persistenced", "nvidia-modprobe", "nvidia-open",
             "nvidia-fabricmanager", "libnvidia-nscq", "libnvsdm", "nvidia-imex")  # fmt: skip
    return offer(*(name for name in names if name not in but), versions=versions)


def of_kernel(release, flavour):
    """What a distribution has for DKMS."""
    return [(f"linux-headers-{release}", "1", ARCHIVE), (f"linux-headers-{flavour}", "1", ARCHIVE), ("dkms", "3.0", ARCHIVE)]


def given(view=None, rows=None, asked=None, **laid):
    """`rows` None: nobody was asked."""
    loaded = profile.load("default", site_file="", overlay=laid) if laid else profile.load("default", site_file="")
    return Given(view or made_view(), loaded.profile, asked or Asked(), Offers(asked=rows is not None))


def resolved(made, rows):
    """(choice, portion of choose, portion of the steps) once every question is answered; transactions move what they name."""
    offers = made.offers
    for _ in range(6):
        choice, chosen = choose(made)
        stepped = driver_steps(made, choice)
        questions = (*chosen.questions, *stepped.questions)
        if not questions or chosen.refusals:
            return choice, chosen, stepped
        for one in questions:
            if one.kind == "candidates":
                found = {name: tuple(Candidate(name, version, url) for known, version, url in rows if known == name) for name in one.words}
                offers = replace(offers, asked=True, candidates={**offers.candidates, **found})
            else:
                offers = replace(offers, transactions={**offers.transactions, one.words: _moves(made.view, one.words)})
        made = made._replace(offers=offers)
    raise AssertionError("questions without an end")


def _moves(view, argv):
    have = {one.name: one.version for one in view.installation.packages}
    words = argv[argv.index("install") + 1 :]
    came = [word.partition("=") for word in words if "=" in word]
    gone = [word[:-1] for word in words if word.endswith("-") and "=" not in word]
    moved = [Moved(name, "amd64", have.get(name, ""), version, CUDA) for name, _, version in came]
    return Transaction((*moved, *(Moved(name, "amd64", have.get(name, ""), "") for name in gone)), 1000, 2000)


def with_packages(view, *pairs, origin="cuda", held=False):
    """`view` with these packages installed."""
    whole = tuple(InstalledPackage(name, version, "amd64", "installed", held, False) for name, version in pairs)
    known = tuple(Package(name, version, upstream(version), "amd64", "installed", held, origin) for name, version in pairs)
    return replace(
        view,
        installation=replace(view.installation, packages=(*view.installation.packages, *whole)),
        packages=replace(view.packages, installed=(*view.packages.installed, *known)),
    )


def with_module(view, version, flavour="open", *, loaded=True, kernels=None):
    """Each kernel has the module, the libraries are there, and the module is loaded."""
    license_ = "Dual MIT/GPL" if flavour == "open" else "NVIDIA"
    built = tuple(
        replace(one, nvidia_path=f"/lib/modules/{one.release}/updates/dkms/nvidia.ko", nvidia_version=version, nvidia_license=license_)
        if kernels is None or one.release in kernels
        else one
        for one in view.kernel.installed
    )
    libraries = tuple(Library(so, f"/usr/lib/{so[:-2]}.{version}", version, True, "x", "") for so in ("libnvidia-ml.so.1", "libcuda.so.1"))
    modules = ("nvidia", "nvidia_uvm", "nvidia_modeset") if loaded else ()
    driver = replace(view.driver, libraries=libraries)
    if loaded:
        driver = replace(driver, loaded=True, loaded_version=version, flavour=flavour, nodes_on_demand=True)
    kernel = replace(
        view.kernel, installed=built, loaded_modules=(*view.kernel.loaded_modules, *modules) if loaded else view.kernel.loaded_modules
    )
    return replace(view, driver=driver, kernel=kernel)


def after(view, choice, steps, *, load=True):
    """The host as a plan that was carried out leaves it."""
    coming = dict((*choice.before, *choice.packages))
    gone = {name.partition(":")[0] for name in (*choice.removed, *coming)}
    held = {word for one in steps for run in one.do if getattr(run, "argv", ())[:2] == ("apt-mark", "hold") for word in run.argv[2:]}
    left = replace(
        view,
        installation=replace(view.installation, packages=tuple(one for one in view.installation.packages if one.name not in gone)),
        packages=replace(view.packages, installed=tuple(one for one in view.packages.installed if one.name not in gone)),
    )
    drivers = [pair for pair in coming.items() if driver_part(pair[0])]
    others = [pair for pair in coming.items() if not driver_part(pair[0])]
    made = with_packages(with_packages(left, *drivers, origin=choice.origin), *others, origin="unknown")
    made = with_module(made, choice.version, choice.flavour, loaded=load)
    made = replace(made, installation=replace(made.installation, packages=_held(made.installation.packages, held)))
    files = tuple(ConfigFile(one.path, one.content, 0o644, 0, 0) for step in steps for one in step.do if isinstance(one, Write))
    kernel = replace(made.kernel, nouveau_blacklisted=True)
    options = tuple(("NVreg_CoherentGPUMemoryMode", "driver") for one in files if "Coherent" in one.text)
    driver = replace(made.driver, module_options=(*made.driver.module_options, *options))
    return replace(made, installation=replace(made.installation, files=files), kernel=kernel, driver=driver)


def _held(packages, names):
    return tuple(replace(one, held=True) if one.name in names else one for one in packages)
