"""The facts that a plan needs, each the fact or ``Unread``."""

from dataclasses import dataclass

from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Kind
from hostagent.facts.accounts import Accounts
from hostagent.facts.cdi import Cdi
from hostagent.facts.cuda import Cuda
from hostagent.facts.driver import Driver
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Identity, Machine, Services, Storage
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.installation import Installation
from hostagent.facts.kernel import Kernel
from hostagent.facts.nvswitch import Fabric
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.facts.toolkit import Toolkit

#: Names of the fact types that a plan reads.
KINDS = (
    *("Identity", "Os", "Platform", "Packages", "Installation", "Kernel", "Services", "Storage", "Machine", "Driver", "Gpu", "Fabric"),
    *("Toolkit", "Runtime", "Launchers", "Cdi", "Cuda", "Accounts"),
)


@dataclass(frozen=True)
class View:
    kind: Kind
    identity: "Identity | Unread"
    os: "Os | Unread"
    platform: "Platform | Unread"
    packages: "Packages | Unread"
    installation: "Installation | Unread"
    kernel: "Kernel | Unread"
    services: "Services | Unread"
    storage: "Storage | Unread"
    machine: "Machine | Unread"
    driver: "Driver | Unread"
    gpus: "tuple[Gpu, ...] | Unread"
    fabric: "Fabric | Unread"
    toolkit: "Toolkit | Unread"
    runtimes: "tuple[Runtime, ...] | Unread"
    launchers: "Launchers | Unread"
    cdi: "Cdi | Unread"
    cuda: "Cuda | Unread"
    accounts: "Accounts | Unread"


def view(facts: HostFacts) -> View:
    kinds = (Identity, Os, Platform, Packages, Installation, Kernel, Services, Storage, Machine, Driver, Gpu, Fabric)
    return View(facts.kind, *(facts.of(kind) for kind in (*kinds, Toolkit, Runtime, Launchers, Cdi, Cuda, Accounts)))
