"""A host whose runtimes are read from its files by hostagent's own readers, with a plan made of them: what a plan writes can be laid over it."""

from dataclasses import replace

from hostagent.core.tables import daemons
from hostagent.core.unread import Unread
from hostagent.domains.runtime.read_runtimes import read_runtimes
from hostagent.facts.host import Machine, Process, Services, Unit
from hostagent.facts.installation import ConfigFile
from hostagent.facts.packages import Package, Packages
from hostagent.facts.runtime import Launcher
from hostagent.plan.model import Asked, Choices, DriverChoice, Given, ToolkitChoice, Write
from hostagent.plan.offers import NOT_ASKED
from hostagent.plan.runtime import runtime_steps
from hostagent.profiles import profile
from hostagent.testing import host
from tests.plan_hosts import made_view

UNREAD = Unread("not-recorded", "not asked")
ABSENT = Unread("absent", "no such file")
PROGRAMS = {"/usr/bin/containerd": "", "/usr/bin/runc": "", "/usr/bin/dockerd": "", "/usr/bin/crio": ""}
NAMES = {"containerd": "containerd.io", "docker": "docker-ce", "crio": "cri-o"}
SOCKETS = {"containerd": "/run/containerd/containerd.sock", "docker": "/run/cri-dockerd.sock", "crio": "/run/crio/crio.sock"}
FROM_NOTHING = Choices(DriverChoice(wanted=False), ToolkitChoice(True, "1.19.0", (("nvidia-container-toolkit", "1.19.0-1"),)))
AS_IT_IS = Choices(DriverChoice(wanted=False), ToolkitChoice(False, "1.19.0"))


class Host:
    """`files` by path; `running` keys of runtimes with the second of their start."""

    def __init__(self, key="containerd", version="2.1.4", files=None, *, running=None, kubelet=True, image=False, units=(), programs=None):
        self.key, self.version, self.image = key, version, image
        self.files = dict(files or {})
        self.programs = (
            {path: "" for path in PROGRAMS if NAMES.get(key, key) and path.endswith((key, f"{key}d", "runc"))}
            if programs is None
            else programs
        )
        self.running = running
        self.kubelet = kubelet
        self.units = units

    def view(self, **over):
        made = made_view()
        installed = (Package(NAMES.get(self.key, self.key), self.version, self.version, "amd64", "installed", False, "distribution"),)
        packages = Packages(**dict.fromkeys(Packages.__dataclass_fields__, UNREAD) | {"installed": installed, "manager": "dpkg"})
        processes = ()
        if self.running is not None:
            name = {"docker": "dockerd"}.get(self.key, self.key)
            processes = (Process(7, name, (name,), self.running, f"{self.key}.service"),)
        told = {"processes": processes, "listening_sockets": (), "unseen_sockets": ()}
        machine = Machine(**dict.fromkeys(Machine.__dataclass_fields__, UNREAD) | told)
        services = Services(
            (*self.units, *(no_unit(name) for name in daemons.units() if name not in {one.name for one in self.units}), unit(self.key))
        )
        facts = {Machine: machine, Packages: packages, Services: services}
        runtimes = read_runtimes(host({**self.programs, **self.files}, "image" if self.image else "live"), lambda kind: facts[kind])
        files = tuple(ConfigFile(path, text, 0o644, 0, 0) for path, text in sorted(self.files.items()) if isinstance(text, str))
        installation = replace(made.installation, files=files, folders=tuple({path.rpartition("/")[0] for path in (*self.files, *FOLDERS)}))
        launchers = replace(made.launchers, kubelets=(kubelet(self.key),) if self.kubelet else ())
        parts = {"runtimes": runtimes, "installation": installation, "launchers": launchers, "services": services, "machine": machine}
        return replace(made, kind="image" if self.image else "live", **{**parts, **over})

    def laid(self, operations):
        """The same host with what the operations write."""
        later = dict(self.files) | {one.path: one.content for one in operations if isinstance(one, Write)}
        return Host(
            self.key,
            self.version,
            later,
            running=self.running,
            kubelet=self.kubelet,
            image=self.image,
            units=self.units,
            programs=self.programs,
        )


FOLDERS = ("/etc/containerd/x", "/etc/containerd/conf.d/x", "/etc/docker/x", "/etc/crio/x", "/etc/crio/crio.conf.d/x")


def unit(name, **fields):
    values = {"exists": True, "state": "enabled", "enabled": True, "masked": False, "active": False, "text": "[Unit]\n"}
    return Unit(name, **values | fields)


def no_unit(name):
    none = Unread("absent", "no such unit")
    return Unit(name, exists=False, state=none, enabled=none, masked=none, active=none, text=none)


def kubelet(key):
    return Launcher("kubelet", SOCKETS.get(key, "/run/k3s/containerd/containerd.sock"), key, "", Unread("not-supported", ""))


def planned(one, choices=FROM_NOTHING, *, continued=(), **view):
    """The portion of the runtimes; a keyword of `view` that is a mapping is laid over the profile."""
    overlay = {name: value for name, value in view.items() if isinstance(value, dict)}
    facts = {name: value for name, value in view.items() if not isinstance(value, dict)}
    chosen = profile.load("default", site_file="", overlay=overlay or None).profile
    return runtime_steps(Given(one.view(**facts), chosen, Asked(continued=tuple(continued)), NOT_ASKED), choices)


def ids(portion):
    return [step.id for step in portion.steps]


def writes(portion):
    return [one for step in portion.steps for one in step.do if isinstance(one, Write)]
