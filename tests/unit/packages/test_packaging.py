"""Commands about packages: of this host's own manager, with its own names, and none where the facts do not say."""

from dataclasses import fields

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.driver.boot import Parts, install_module
from hostagent.domains.packages.commands import hold, initramfs, install, install_headers, module_package
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import InstalledKernel, Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Package, Packages

UNREAD = Unread("timeout", "dpkg")


def made(kind, **values):
    return kind(**{**dict.fromkeys((one.name for one in fields(kind)), Unread("absent")), **values})


def packages(manager, *names, version="580.178.04-1ubuntu1", upstream="580.178.04"):
    installed = tuple(Package(name, version, upstream, "amd64", "installed", False, "cuda") for name in names)
    return made(Packages, manager=manager, installed=installed)


def system(id_):
    return made(Os, id=id_)


HEADERS = [
    ("dpkg", "ubuntu", "linux-image-6.8.0-87-generic", "6.8.0-90-generic", "apt-get install linux-headers-6.8.0-90-generic"),
    ("dpkg", "debian", "linux-image-6.1.0-40-amd64", "6.1.0-41-amd64", "apt-get install linux-headers-6.1.0-41-amd64"),
    ("rpm", "rocky", "kernel-core", "5.14.0-570.62.1.el9_6.x86_64", "dnf install kernel-devel-5.14.0-570.62.1.el9_6.x86_64"),
    ("rpm", "rhel", "kernel-64k-core", "5.14.0-570.62.1.el9_6.aarch64+64k", "dnf install kernel-64k-devel-5.14.0-570.62.1.el9_6.aarch64"),
    ("rpm", "ol", "kernel-uek-core", "5.15.0-300.el9uek.x86_64", "dnf install kernel-uek-devel-5.15.0-300.el9uek.x86_64"),
    ("rpm", "amzn", "kernel6.12", "6.12.55-74.119.amzn2023.x86_64", "dnf install kernel6.12-devel-6.12.55-74.119.amzn2023.x86_64"),
    ("rpm", "sles", "kernel-default", "6.4.0-150600.23.84-default", "zypper install kernel-default-devel=6.4.0-150600.23.84"),
    ("rpm", "azurelinux", "kernel", "6.6.96.1-1.azl3.x86_64", "tdnf install kernel-devel-6.6.96.1-1.azl3.x86_64"),
]


@pytest.mark.parametrize(("manager", "id_", "kernel", "release", "command"), HEADERS)
def test_headers_are_called_as_the_distribution_calls_them(manager, id_, kernel, release, command):
    assert install_headers(packages(manager, kernel), system(id_), release) == command


@pytest.mark.parametrize(
    ("found", "os", "release"),
    [
        (packages("dpkg", "nvidia-dkms-580-open"), system("debian"), "6.18.44"),  # a kernel that somebody built
        (packages("dpkg", "linux-image-6.1.0-40-amd64"), system("debian"), "6.18.44-custom"),
        (packages("rpm", "kernel-core"), UNREAD, "5.14.0-570.62.1.el9_6.x86_64"),  # rpm alone does not say which manager
        (UNREAD, system("ubuntu"), "6.8.0-90-generic"),
    ],
)
def test_a_command_that_the_facts_do_not_fill_is_none(found, os, release):
    assert install_headers(found, os, release) == ""


def test_a_version_is_written_as_the_host_s_packages_have_it():
    found = packages("dpkg", "libnvidia-compute-580")
    assert install(found, system("ubuntu"), ("nvidia-fabricmanager",), "580.178.04") == (
        "apt-get install nvidia-fabricmanager=580.178.04-1ubuntu1"
    )
    assert install(found, system("ubuntu"), ("nvidia-fabricmanager",), "590.48.01") == "apt-get install 'nvidia-fabricmanager=590.48.01-*'"
    assert install(packages("rpm"), system("rhel"), ("nvidia-imex",), "580.178.04") == "dnf install nvidia-imex-580.178.04"


def test_a_manager_without_holds_has_no_command_for_it():
    assert hold(packages("rpm"), system("rhel"), ("a", "b")) == "dnf versionlock add a b"
    assert hold(packages("rpm"), system("azurelinux"), ("a",)) == ""
    assert hold(packages("rpm"), system("rhel"), ()) == ""


def test_the_initramfs_is_rebuilt_by_the_tool_of_the_package_database():
    assert initramfs(packages("dpkg"), "6.8.0-90-generic") == "update-initramfs -u -k 6.8.0-90-generic"
    assert initramfs(packages("rpm")) == "dracut --force --regenerate-all"
    assert initramfs(UNREAD) == ""


@pytest.mark.parametrize(
    ("name", "release", "wanted"),
    [
        (
            "linux-modules-nvidia-580-server-open-6.8.0-87-generic",
            "6.8.0-90-generic",
            "linux-modules-nvidia-580-server-open-6.8.0-90-generic",
        ),
        ("linux-modules-nvidia-580-open-6.8.0-87-generic", "6.8.0-1042-gke", ""),  # another flavour of kernel
        ("kmod-nvidia-580.95.05-5.14.0-570.12.1", "5.14.0-570.62.1.el9_6.x86_64", "kmod-nvidia-580.95.05-5.14.0-570.62.1"),
        ("nvidia-dkms-580-open", "6.8.0-90-generic", ""),
    ],
)
def test_the_module_of_another_kernel_says_what_its_package_is_called(name, release, wanted):
    assert module_package(packages("dpkg", name), release) == wanted


def test_a_kernel_without_headers_gets_them_before_its_module_is_built():
    def parts(headers):
        one = made(InstalledKernel, release="6.8.0-90-generic", headers=headers)
        kernel = made(Kernel, release="6.8.0-87-generic", installed=(one,))
        driver = made(Driver, dkms=("a build",))
        return Parts(kernel, driver, packages("dpkg", "linux-image-6.8.0-87-generic"), system("ubuntu"))

    assert [step.command for step in install_module(parts(False), "6.8.0-90-generic")] == [
        "apt-get install linux-headers-6.8.0-90-generic",
        "dkms autoinstall -k 6.8.0-90-generic",
    ]
    assert [step.command for step in install_module(parts(True), "6.8.0-90-generic")] == ["dkms autoinstall -k 6.8.0-90-generic"]
