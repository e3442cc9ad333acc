"""The joins of container runtimes: which of them serve jobs, and in which ways they give GPUs."""

from dataclasses import fields

from hostagent.core.unread import Unread
from hostagent.domains.runtime.access import GpuAccess
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.facts.toolkit import Toolkit
from hostagent.profiles.profile import load

UNKNOWN = Unread("not-recorded", "not named")


def made(what, **given):
    return what(**{field.name: UNKNOWN for field in fields(what)} | given)


def profile(kind):
    return load("default", site_file="/nonexistent", overlay={"runtime": {"kind": kind}}).profile


DOCKER = made(Runtime, key="docker", kind="docker", state="accepted", in_use=True, handlers=(), running=True)
LAUNCHERS = made(Launchers, kubelets=(), programs=(), plugin_sockets=(), mounted_libraries=(), docker_hook=True)


def test_the_choice_is_the_profile_s_and_is_made_once():
    choice = RuntimeChoice(LAUNCHERS, (DOCKER,), profile("docker"))
    assert ([one.key for one in choice.serving.runtimes], choice.serving.by) == (["docker"], "profile")
    assert choice.serving is choice.serving
    assert RuntimeChoice(LAUNCHERS, (DOCKER,), profile("none")).serving.runtimes == ()


def test_the_ways_of_a_runtime_follow_from_launchers_specifications_and_toolkit():
    access = GpuAccess(made(Cdi, specs=()), LAUNCHERS, made(Toolkit, mode="legacy", operator_version=""))
    assert access.ways(DOCKER) == ("hook",)
