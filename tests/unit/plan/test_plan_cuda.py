"""When a host gets a CUDA toolkit, and which."""

from dataclasses import replace

import pytest

from hostagent.core.unread import Unread, UnreadError
from hostagent.facts.cuda import Cuda, CudaToolkit
from hostagent.facts.installation import InstalledPackage
from hostagent.plan.build import make
from hostagent.plan.cuda import choose_cuda, cuda_steps
from hostagent.plan.model import Asked, Renamed
from hostagent.plan.offers import Candidate, Moved, Offers, Transaction
from tests.plan_fakes import given
from tests.plan_hosts import made_view

WANTED = {"cuda": {"install": "13.0", "toolkit": ">=13.0"}}
NAME = "cuda-toolkit-13-0"
UNREAD = Unread("denied", "no right")


def host(*toolkits, default="", packages=()):
    view = made_view("debian12")
    made = Cuda(tuple(CudaToolkit(path, version, nvcc) for path, version, nvcc in toolkits), default)
    own = tuple(InstalledPackage(name, "13.0.2-1", "amd64", "installed", held=False, automatic=False) for name in packages)
    return replace(view, cuda=made, installation=replace(view.installation, packages=(*view.installation.packages, *own)))


def offers(*versions, name=NAME, moved=None):
    found = Offers(asked=True, candidates={name: tuple(Candidate(name, one, "https://r/") for one in versions)})
    return found if moved is None else replace(found, transactions=moved)


def chosen(view, overlay=None, asked=None, said=None):
    return choose_cuda(given(view, asked or Asked(), said or offers("13.0.2-1", "13.0.1-1"), overlay or WANTED))


def test_nobody_who_does_not_ask_gets_one():
    for toolkits in ((), (("/usr/local/cuda-12.4", "12.4", True),)):
        assert not chosen(host(*toolkits), {"cuda": {"toolkit": ">=13.0"}})[0].wanted


@pytest.mark.parametrize(
    ("toolkits", "default", "version"),
    [
        ((("/usr/local/cuda-13.0", "13.0.2", True),), "", "13.0.2"),
        ((("/usr/local/cuda-13.0", "13.0", True), ("/usr/local/cuda-12.4", "12.4.1", True)), "/usr/local/cuda-12.4", "13.0"),
        ((("/usr/local/cuda-13.1", "13.1.0", True),), "/usr/local/cuda-13.1", "13.1.0"),
        ((("/opt/cuda", "13.2.1", True),), "/opt/cuda", "13.2.1"),
    ],
)
def test_one_that_satisfies_stays_where_programs_look_for_it(toolkits, default, version):
    choice, portion = chosen(host(*toolkits, default=default))
    assert (choice.wanted, choice.version, portion.questions) == (False, version, ())
    assert not cuda_steps(given(host(*toolkits, default=default), overlay=WANTED), choice).steps


@pytest.mark.parametrize(
    ("toolkits", "default"),
    [
        ((), ""),
        ((("/usr/local/cuda-12.9", "12.9.1", True),), "/usr/local/cuda-12.9"),
        ((("/usr/local/cuda-13.1", "13.1.0", True),), "/usr/local/cuda-12.9"),  # nobody finds it there
        ((("/usr/local/cuda-13.0", "13.0.2", False),), "/usr/local/cuda-13.0"),
        ((("/usr/local/cuda-13.0", "13.0.2", UNREAD),), ""),
        ((("/usr/local/cuda-13.0", UNREAD, True),), ""),
        ((("/usr/local/cuda-13.0", "13.0.0~rc.1", True),), ""),
        ((("/usr/local/cuda-13.0", "13.0.2", False),), UNREAD),
    ],
)
def test_what_is_older_elsewhere_without_a_compiler_or_not_read_is_none(toolkits, default):
    choice, portion = chosen(host(*toolkits, default=default))
    assert choice.wanted
    assert choice.packages == ((NAME, "13.0.2-1"),)
    assert not portion.refusals


def test_folders_that_were_not_read_are_refused():
    view = replace(made_view("debian12"), cuda=Cuda(UNREAD, UNREAD))
    with pytest.raises(UnreadError):
        chosen(view)
    (refusal,) = make(given(view, overlay={**WANTED, "driver": {"owner": "provider"}, "toolkit": {"required": "never"}})).refusals
    assert refusal.id == "plan.unread"


def test_a_major_version_counts_wherever_its_minor_one_is():
    wanted = {"cuda": {"install": "13", "toolkit": ">=13"}}
    assert not chosen(host(("/usr/local/cuda-13.2", "13.2.0", True)), wanted)[0].wanted
    assert not chosen(host(("/usr/local/cuda-13", "13.2.0", True)), wanted)[0].wanted
    assert chosen(host(("/usr/local/cuda-130", "13.2.0", True)), wanted, said=offers("13.2.0-1", name="cuda-toolkit-13"))[0].wanted


def test_the_repositories_are_asked_once_and_must_have_it():
    choice, portion = choose_cuda(given(host(), overlay=WANTED))
    assert (choice.packages, [one.words for one in portion.questions]) == (((NAME, "13.0.*"),), [(NAME,)])
    for versions in ((), ("12.9.1-1",), ("13.0.0~rc.1-1",), ("13.1.0-1",)):
        (refusal,) = chosen(host(), said=offers(*versions))[1].refusals
        assert refusal.id == "plan.cuda-missing"
        assert refusal.message.startswith("found ")


def test_of_a_name_that_is_given_whatever_satisfies_is_taken():
    asked = Asked(renamed=Renamed(cuda="cuda-toolkit-13-1"))
    choice, _ = chosen(host(), asked=asked, said=offers("13.1.0-1", name="cuda-toolkit-13-1"))
    assert choice.packages == (("cuda-toolkit-13-1", "13.1.0-1"),)
    assert not chosen(host(("/usr/local/cuda-13.1", "13.1.0", True)), asked=asked)[0].wanted


def step_of(view, said):
    one = given(view, offers=said, overlay=WANTED)
    choice, _ = choose_cuda(one)
    return choice, cuda_steps(one, choice)


def test_the_step_is_done_by_what_lies_on_the_disk_and_not_by_the_package():
    _, portion = step_of(host(), offers("13.0.2-1"))
    (step,) = portion.steps
    assert (step.id, step.kind, step.undo.kind) == ("cuda.packages", "packages", "packages")
    assert not step.probe.done(host(packages=(NAME,)))
    assert step.probe.done(host(("/usr/local/cuda-13.0", "13.0.2", True)))
    assert not step.probe.done(replace(host(), cuda=Cuda(UNREAD, UNREAD)))
    assert len(step.title) <= 80


def test_a_package_whose_compiler_is_gone_comes_once_more_with_the_package_that_has_it():
    view = host(("/usr/local/cuda-13.0", "13.0.2", False), packages=(NAME, "cuda-nvcc-13-0", "cuda-nvcc-12-9"))
    _, portion = step_of(view, offers("13.0.2-1"))
    words = portion.steps[0].do[0].argv
    assert "--reinstall" in words
    assert words[-2:] == (f"{NAME}=13.0.2-1", "cuda-nvcc-13-0=13.0.2-1")


def test_all_that_the_transaction_moves_is_told_with_its_size():
    _, before = step_of(host(), offers("13.0.2-1"))
    (question,) = before.questions
    moved = (Moved(NAME, "amd64", "", "13.0.2-1", "https://r/"), Moved("cuda-nvcc-13-0", "amd64", "", "13.0.88-1", "https://r/"))
    answer = Transaction(moved, download_bytes=3, disk_bytes=7)
    _, portion = step_of(host(), offers("13.0.2-1", moved={question.words: answer}))
    assert not portion.questions
    assert [(one.name, one.part, one.after) for one in portion.packages] == [(one.name, "cuda", one.after) for one in moved]
    assert portion.space == (("/usr", 7), ("/var", 3))


def test_a_package_that_brings_a_driver_of_its_own_is_refused():
    only = {**WANTED, "driver": {"owner": "provider"}, "toolkit": {"required": "never"}}
    asked = Asked(renamed=Renamed(cuda="cuda"))
    view, said = host(), offers("13.0.2-1", name="cuda")
    (question,) = make(given(view, asked, said, only)).questions
    moved = (Moved("cuda", "amd64", "", "13.0.2-1", "https://r/"), Moved("nvidia-open", "amd64", "", "595.58.03-1", "https://r/"))
    plan = make(given(view, asked, replace(said, transactions={question.words: Transaction(moved)}), only))
    assert [one.id for one in plan.refusals] == ["plan.other-driver"]
    assert "nvidia-open 595.58.03-1" in plan.refusals[0].message
