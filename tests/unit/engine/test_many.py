"""A large host is still one page: 512 GPUs, 4,096 findings, names of 10,000 characters, in linear time."""

import re

import pytest

from hostagent.core.steps import Step
from hostagent.engine.report import HostIdentity
from hostagent.engine.report.grouping import with_headline
from hostagent.outputs import FORMATS, render
from tests.test_linear import is_linear
from tests.unit.reports import judgement, report

GPUS, CHECKS = 512, 8
#: Lines and characters of a page: what somebody reads before they scroll no more.
LINES, CHARS = 120, 12_000
LONG = 10_000


def _equal(gpus, outcome="fail"):
    """The same is wrong with every GPU."""
    return [one for at in range(gpus) for one in _of_gpu(at, outcome, "it is broken", "{device} is broken")]


def _all_different(gpus, outcome="fail"):
    """Every GPU says another number, and the headline repeats it; each wants a reset of its own."""
    return [one for at in range(gpus) for one in _of_gpu(at, outcome, f"it is broken {at} times", f"{{device}} is broken {at} times")]


def _of_gpu(at, outcome, message, headline):
    pci = f"{at:04x}:1b:00.0"
    device = f"GPU {at} ({pci})"
    step = (Step("reset_gpu", "Reset the GPU.", f"nvidia-smi --gpu-reset -i {pci}"),)
    base = {"subject": pci, "subject_kind": "gpu", "device": device, "message": message, "headline": headline.format(device=device)}
    return [judgement(f"gpu.c{check}", outcome, remedy=step, **base) for check in range(CHECKS)]


def _all_unread(gpus):
    return [
        judgement(
            f"gpu.c{check}", "unknown", subject=f"{at:04x}:1b:00.0", message=f"no answer of GPU {at}", unread=f"nvml device {at} handle"
        )
        for at in range(gpus)
        for check in range(CHECKS)
    ]


def _all_checks(count):
    """Every check of a large catalogue found something else."""
    return [judgement(f"acme.c{at}", message=f"fault {at}", remedy=(Step("configure", f"Mend {at}."),)) for at in range(count)]


def _all_off(gpus):
    return [judgement("gpu.c", "off", subject=f"{at:04x}:1b:00.0", message="excepted by the profile") for at in range(gpus)]


MANY = {
    "equal": lambda: _equal(GPUS),
    "different": lambda: _all_different(GPUS),
    "unread": lambda: _all_unread(GPUS),
    "warnings": lambda: _all_different(GPUS, "warn"),
    "checks": lambda: _all_checks(GPUS * CHECKS),
    "off": lambda: _all_off(GPUS * CHECKS),
    "passed": lambda: _equal(GPUS, "pass"),
}


@pytest.mark.parametrize("name", MANY)
def test_the_text_of_many_findings_is_one_page(name):
    text = render(report(*MANY[name]()), "text")
    assert len(text.splitlines()) <= LINES
    assert len(text) <= CHARS


@pytest.mark.parametrize("name", ["equal", "different", "unread", "warnings"])
def test_no_check_and_no_gpu_is_lost_where_many_are_one_line(name):
    text, whole = render(report(*MANY[name]()), "text"), render(report(*MANY[name]()), "text", verbose=True)
    assert f"{CHECKS} checks" in text
    assert {f"gpu.c{check}" for check in range(CHECKS)} <= set(re.findall(r"gpu\.c\d", whole))
    assert "512 GPUs" in text or "GPUs 0 to 511" in text or "more: -v lists all" in text
    assert len(whole) >= len(text)


def test_equal_faults_are_one_cause_with_one_step():
    text = render(report(*MANY["equal"]()), "text")
    assert text.startswith("NOT READY  GPUs 0 to 511 is broken.")
    assert "(8 causes, 8 checks)" in text
    assert text.count("Reset the GPU.") == 2  # the verdict line, and the one step


@pytest.mark.parametrize("name", MANY)
def test_the_page_of_html_shows_little_and_folds_the_rest(name):
    page = render(report(*MANY[name]()), "html")
    shown = re.sub(r"<[^>]*>", "", _without_folds(page.partition("<body>")[2]))
    assert len(shown) <= CHARS


def _without_folds(page):
    """What is seen before anybody opens a fold."""
    kept, depth = [], 0
    for part in re.split(r"(<details>|</details>)", page):
        depth += (part == "<details>") - (part == "</details>")
        if not depth:
            kept.append(part)
    return "".join(kept)


def test_html_tells_every_finding_in_a_fold():
    page = render(report(*MANY["different"]()), "html")
    assert all(f"broken {at} times" in page for at in range(GPUS))


def _long(outcome):
    text = "x" * LONG
    fields = dict.fromkeys(("subject", "device", "message", "found", "wanted", "headline", "code"), text)
    step = Step("install", f"{text} {text}", f"apt-get install {text}")
    return judgement(f"gpu.{outcome}", outcome, evidence=(text,) * 20, remedy=(step,), unread=text, **fields)


@pytest.mark.parametrize("form", ["text", "line", "prometheus"])
def test_names_of_ten_thousand_characters_are_cut(form):
    findings = [_long(outcome) for outcome in ("fail", "warn", "unknown", "skip", "off", "pass")]
    whole = report(*findings, host=HostIdentity(*["y" * LONG] * 5), facts={"gpus": [{"name": "z" * LONG}]})
    shown = render(whole, form)
    assert len(shown) <= CHARS
    assert len(max(re.findall(r"[xyz]+", shown), key=len, default="")) <= 400


def test_what_is_cut_says_how_long_it_was():
    assert "xxx... (10000 characters)" in " ".join(render(report(_long("fail")), "text").split())


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("made", [_equal, _all_different, _all_unread, _all_off], ids=lambda made: made.__name__)
def test_time_grows_with_the_findings_and_not_with_their_square(form, made):
    assert is_linear(lambda whole: render(with_headline(whole), form), lambda times: {"whole": report(*made(24 * times))})


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("text", ["x", "x ", "'", "<", "\x1b", "'x' "])
def test_time_grows_with_the_texts_and_not_with_their_square(form, text):
    def given(times):
        long = text * 4096 * times
        return {"whole": report(judgement(message=long, headline=long, evidence=(long,), remedy=(Step("none", long),)))}

    assert is_linear(lambda whole: render(with_headline(whole), form), given)
