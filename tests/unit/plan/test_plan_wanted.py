"""The profile and the wishes that ``setup --install`` makes of the host's own and the request."""

import pytest

from hostagent.core.errors import HostagentError
from hostagent.core.typed import build
from hostagent.core.unread import Unread
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.plan.model import DockerAsked, Renamed
from hostagent.profiles.profile import load
from hostagent.setup.request import Minimums, Request
from hostagent.setup.wanted import LAYER, wanted


def fact(kind, /, **values):
    return build(kind, values, kind.__name__, lambda field: Unread("not-recorded", f"the test does not name {field}"))


def host(id_="debian", database="dpkg", runtimes=("docker",)):
    several = tuple(fact(Runtime, key=one, kind=one, state="accepted", installed=True, in_use=True) for one in runtimes)
    launchers = fact(Launchers, kubelets=(), slurmd=False)
    return HostFacts({Os: fact(Os, id=id_), Packages: fact(Packages, manager=database), Runtime: several, Launchers: launchers})


def request(generation="B", *, driver="580", cuda="13.0", toolkit="1.19.0", backend="docker", variables=None, **more):
    return Request(generation, backend, Minimums(driver, cuda, toolkit), f"/usr/local/cuda-{cuda}", variables or {}, **more)


def own(tmp_path, text="", name=""):
    """A host's profile, with `text` as its site file."""
    site = tmp_path / "site.yaml"
    site.write_text(f"schema_version: 1\n{text}")
    return load(name, site_file=str(site) if text else "")


def made(tmp_path, text="", name="", facts=None, **asked):
    return wanted(own(tmp_path, text, name), request(**asked), facts or host())[0].profile


@pytest.mark.parametrize(
    ("text", "minimum", "version", "install"),
    [
        ("", "580", ">=580", "580"),  # a host with 595 is not taken back to the branch of a profile that nobody chose
        ("", "500", ">=500", "580"),  # what the profile installs satisfies
        ("", "590.48", ">=590.48", "590"),
        ("", "580.126.20", ">=580.126.20", "580"),
        ("driver: {version: '>=580.126,<590'}", "580", ">=580.126,<590,>=580", "580"),  # somebody chose that
        ("driver: {version: '570.*', install: '570'}", "580", ">=580", "580"),  # both cannot be
        ("driver: {install: 580.126.20}", "580", ">=580", "580.126.20"),
        ("driver: {install: '580.*'}", "580.126", ">=580.126", "580.*"),
        ("driver: {install: 580.126.20}", "580.159", ">=580.159", "580"),
        ("extends: any", "580", ">=580", "580"),
        ("extends: tao-7.0", "580", "580.*,>=580", "580"),
    ],
)
def test_the_driver_is_what_the_profile_installs_where_that_satisfies(tmp_path, text, minimum, version, install):
    driver = made(tmp_path, text, driver=minimum).driver
    assert (driver.version, driver.install) == (version, install)


@pytest.mark.parametrize(
    ("text", "minimum", "version", "install"),
    [
        ("", "1.19.0", ">=1.19.0", "1.19.0"),
        ("", "1.18", ">=1.18", "1.19.0"),
        ("", "1.20.0", ">=1.20.0", "1.20.0"),
        ("extends: any", "1.19.0", ">=1.19.0", "1.19.0"),
        ("toolkit: {version: '>=1.19.0,<1.20', install: 1.19.1}", "1.19.0", ">=1.19.0,<1.20,>=1.19.0", "1.19.1"),
        ("toolkit: {version: '==1.18.2', install: 1.18.2}", "1.19.0", ">=1.19.0", "1.19.0"),
    ],
)
def test_the_toolkit_is_what_the_profile_installs_where_that_satisfies_and_needed_always(tmp_path, text, minimum, version, install):
    toolkit = made(tmp_path, text, toolkit=minimum).toolkit
    assert (toolkit.version, toolkit.install, toolkit.required) == (version, install, "always")


@pytest.mark.parametrize(
    ("text", "minimum", "version", "install"),
    [
        ("", "13.0", ">=13.0", "13.0"),
        ("", "12.9.1", ">=12.9.1", "12.9"),  # no package has a name of three fields
        ("", "13", ">=13", "13"),
        ("extends: tao-7.0", "13.0", "13.0.*,>=13.0", "13.0"),
    ],
)
def test_the_cuda_toolkit_is_that_of_the_minimum(tmp_path, text, minimum, version, install):
    cuda = made(tmp_path, text, cuda=minimum).cuda
    assert (cuda.toolkit, cuda.install) == (version, install)


def test_the_older_generation_wants_the_versions_themselves(tmp_path):
    profile = made(tmp_path, generation="A")
    assert (profile.driver.version, profile.cuda.toolkit, profile.toolkit.version) == ("580.*", "13.0.*", "==1.19.0")
    assert (profile.driver.install, profile.cuda.install, profile.toolkit.install) == ("580", "13.0", "1.19.0")
    other = made(tmp_path, generation="A", driver="570.211", toolkit="1.18")
    assert (other.driver.version, other.driver.install) == ("570.211.*", "570")
    assert (other.toolkit.version, other.toolkit.install) == ("1.18.*", "1.18")


def test_a_version_that_is_none_is_no_profile(tmp_path):
    with pytest.raises(HostagentError, match="Container Toolkit"):
        made(tmp_path, generation="A", toolkit="latest")


def test_docker_gets_the_runtime_by_name_whatever_serves_jobs_here(tmp_path):
    runtime = made(tmp_path, "runtime: {kind: containerd, access: cdi}", facts=host(runtimes=("containerd", "docker"))).runtime
    assert (runtime.kind, runtime.access) == ("docker", "handler")
    assert made(tmp_path, facts=host(runtimes=())).runtime.kind == "docker"  # it comes with the plan


@pytest.mark.parametrize(
    ("runtimes", "asked"),
    [
        (("docker",), {"configure_docker": False}),
        (("containerd", "docker"), {"configure_docker": False}),
        ((), {"configure_docker": False}),
        ((), {"install_docker": False}),  # there is nothing to configure
    ],
)
def test_no_docker_is_configured_where_that_is_skipped(tmp_path, runtimes, asked):
    loaded, wishes = wanted(own(tmp_path), request(**asked), host(runtimes=runtimes))
    assert loaded.profile.runtime == own(tmp_path).profile.runtime
    assert not wishes.docker.configure


def test_a_docker_that_is_there_is_configured_where_its_installation_is_skipped(tmp_path):
    loaded, wishes = wanted(own(tmp_path), request(install_docker=False), host())
    assert (loaded.profile.runtime.kind, wishes.docker) == ("docker", DockerAsked(install=False))


def test_kubernetes_leaves_the_runtime_to_the_profile(tmp_path):
    for backend in ("kubernetes", "k8s"):
        loaded, asked = wanted(own(tmp_path), request(backend=backend, user="ann"), host())
        assert loaded.profile.runtime == own(tmp_path).profile.runtime
        assert asked.docker is None


def test_docker_that_could_not_be_looked_for_is_configured_so_that_the_plan_says_why_not(tmp_path):
    facts = HostFacts({Runtime: Unread("denied", "")})
    assert made(tmp_path, facts=facts, install_docker=False).runtime.kind == "docker"


@pytest.mark.parametrize(
    ("asked", "docker"),
    [
        ({}, DockerAsked()),
        ({"user": "ann"}, DockerAsked(user="ann")),
        ({"user": "root"}, DockerAsked()),
        ({"user": "ann", "join_docker": False}, DockerAsked()),
        ({"install_docker": False, "backend": "local-docker"}, DockerAsked(install=False)),
        ({"configure_docker": False}, DockerAsked(configure=False)),
        ({"variables": {"DOCKER_PACKAGE": "docker-ce"}}, DockerAsked(package="docker-ce")),
        ({"variables": {"DOCKER_PACKAGE": "docker-ce", "DOCKER_PACKAGE_DEBIAN": "moby"}}, DockerAsked(package="moby")),
    ],
)
def test_what_is_asked_of_docker(tmp_path, asked, docker):
    assert wanted(own(tmp_path), request(**asked), host())[1].docker == docker


VARIABLES = {
    "NVIDIA_DRIVER_PACKAGE_DEBIAN": "deb",
    "NVIDIA_DRIVER_PACKAGE_RHEL": "rhel",
    "NVIDIA_DRIVER_KMOD_RHEL": "kmod",
    "NVIDIA_DRIVER_PACKAGE_SUSE": "suse",
    "NVIDIA_CUDA_PACKAGE": "cuda",
    "DOCKER_PACKAGE_DEBIAN": "docker",
}


@pytest.mark.parametrize(
    ("id_", "database", "renamed", "docker"),
    [
        ("ubuntu", "dpkg", Renamed("deb", "", "cuda"), "docker"),
        ("rocky", "rpm", Renamed("rhel", "kmod", "cuda"), ""),
        ("sles", "rpm", Renamed("suse", "", "cuda"), ""),
    ],
)
def test_variables_name_packages_of_their_own_family_alone(tmp_path, id_, database, renamed, docker):
    asked = wanted(own(tmp_path), request(variables=VARIABLES), host(id_, database))[1]
    assert (asked.renamed, asked.docker.package) == (renamed, docker)


def test_the_made_profile_says_what_it_is_made_of(tmp_path):
    before = own(tmp_path, "gpus: {required: false}")
    after, asked = wanted(before, request(), host())
    assert after.title == f"default + setup + {before.site}"
    assert after.digest != before.digest
    assert after.origin("driver.version") == LAYER
    assert after.origin("gpus.required") == before.site
    assert after.origin("driver.owner") == "default"
    assert (asked.only, asked.upgrade, asked.in_use) == ((), False, False)
