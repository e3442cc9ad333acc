"""The document of a plan and its page: true of the plan, valid by its schema, safe whatever stands in it."""

import json
from dataclasses import replace

import jsonschema
import pytest
from hypothesis import given as with_examples
from hypothesis import settings
from hypothesis import strategies as st

from hostagent.cli.schemas import published
from hostagent.core.steps import Step
from hostagent.outputs.plan import render_plan
from hostagent.plan.document import document, version_of
from hostagent.plan.model import Key, PlannedPackage, Portion, Refusal, Remove, Run, Undo, Write
from tests.plan_fakes import given, made, step
from tests.plan_hosts import made_view
from tests.unit.reports import HOSTILE, report

VALIDATE = jsonschema.Draft202012Validator(published("plan"))
OPERATIONS = (
    Run(("systemctl", "--root=/", "enable", "--now", "nvidia-persistenced.service", "nvidia-cdi-refresh.path")),
    Run(("/usr/bin/systemctl", "daemon-reload")),
    Write("/etc/modprobe.d/hostagent-nouveau.conf", "blacklist nouveau\n"),
    Key("/usr/share/keyrings/hostagent-cuda.gpg", url="https://mirror/key.gpg", sha256="0" * 64),
    Remove("/etc/apt/sources.list.d/old.list"),
)
REFUSAL = Refusal(
    "plan.space",
    "found 1 GiB, wanted 3 GiB",
    "There is too little space",
    "1 GiB",
    "3 GiB",
    "configure",
    (Step("configure", "Make room.", "du -x /usr"),),
)
PACKAGES = (
    PlannedPackage("nvidia-dkms-580-open", "driver", "570.1-1", "580.2-1", "cuda", 5_000_000),
    PlannedPackage("nvidia-dkms-570-open", "driver", "570.1-1", None, "", None),
    PlannedPackage("libnvidia-compute-580", "driver", None, "580.2-1", "cuda", None),
)


def whole(**fields):
    steps = (
        step("driver.done", done=True),
        step("driver.units", do=OPERATIONS, restarts=("containerd.service",), undo=Undo("units")),
        step(),
    )
    return Portion(
        steps=steps,
        packages=PACKAGES,
        reboot=("570.1 is loaded and in use",),
        irreversible=("the old module stays loaded",),
        space=(("/usr", 2**31),),
        **fields,
    )


def told(**portions):
    return document(made(**portions), report())


def test_it_is_as_its_schema_says():
    for one in (told(), told(driver_steps=whole()), told(driver_steps=whole(refusals=(REFUSAL,))), told(before=(REFUSAL,))):
        VALIDATE.validate(json.loads(render_plan(one, "json")))


def test_the_schema_explains_every_field_and_names_every_kind_of_operation():
    shape = published("plan")
    assert [name for name, one in shape["properties"].items() if not one.get("description")] == []
    ways = shape["properties"]["steps"]["items"]["properties"]["do"]["items"]["anyOf"]
    assert [one["required"] for one in ways] == [["run"], ["write"], ["key"], ["remove"]]
    wrong = json.loads(render_plan(told(driver_steps=whole()), "json"))
    wrong["steps"][1]["do"].append({"sing": {}})
    assert not VALIDATE.is_valid(wrong)


def test_services_and_restarts_are_those_of_the_steps_that_are_to_do():
    found = told(driver_steps=whole())
    units = ("nvidia-persistenced", "nvidia-cdi-refresh.path")
    assert [(one.unit, one.change) for one in found.services] == [(unit, change) for unit in units for change in ("enabled", "started")]
    assert found.restarts == ("containerd",)
    nothing = told(driver_steps=Portion(steps=(step(do=OPERATIONS, restarts=("containerd.service",), done=True),)))
    assert (nothing.services, nothing.restarts, nothing.files) == ((), (), ())


def test_a_unit_that_stops_and_starts_again_is_restarted():
    both = tuple(Run(("systemctl", verb, "nvidia-fabricmanager.service")) for verb in ("stop", "start"))
    found = told(driver_steps=Portion(steps=(step(do=both),)))
    assert (found.services, found.restarts) == ((), ("nvidia-fabricmanager",))


@pytest.mark.parametrize(
    ("facts", "told_of"),
    [
        ({"exists": False, "active": False}, False),
        ({"exists": True, "active": False}, False),
        ({"exists": True, "active": True}, True),
        ({"exists": True, "active": {"unread": "denied", "detail": "no"}}, True),
    ],
)
def test_a_unit_stops_only_where_the_facts_do_not_show_that_it_does_not_run(facts, told_of):
    name = "nvidia-fabricmanager"
    unit = {"name": name, "state": "enabled", "enabled": True, "masked": False, "text": "", **facts}
    stopping = Portion(steps=(step(do=(Run(("systemctl", "stop", f"{name}.service")),)),))
    found = told(of=given(made_view(services={"units": [unit]})), driver_steps=stopping)
    assert [(one.unit, one.change) for one in found.services] == ([(name, "stopped")] if told_of else [])


def test_a_package_that_is_not_there_is_null():
    rows = json.loads(render_plan(told(driver_steps=whole()), "json"))["packages"]
    assert [(row["from"], row["to"]) for row in rows] == [("570.1-1", "580.2-1"), ("570.1-1", None), (None, "580.2-1")]


def test_what_is_taken_from_a_report_is_as_it_stands_there():
    one, of = told(driver_steps=whole()), report()
    for name in ("tool", "host", "profile", "security", "read_from", "replayed", "simulated", "boot_id", "observed_at"):
        assert getattr(one, name) == getattr(of, name)


class TestPage:
    def test_it_says_what_happens_then_what_it_costs_then_what_stays_and_diffs_last(self):
        page = render_plan(told(driver_steps=whole()), "text")
        order = ["TO DO", "WHAT HAPPENS", "PACKAGES", "WHAT IT COSTS", "CANNOT BE UNDONE", "FILES"]
        assert [page.index(one) for one in order] == sorted(page.index(one) for one in order)
        assert page.rstrip().endswith("keyring from https://mirror/key.gpg")
        for said in (
            "4.8 MiB and more",
            "2 GiB at /usr",
            "Reboot: needed",
            "570.1 is loaded and in use",
            "+blacklist nouveau",
            "Restarted: containerd",
        ):
            assert said in page

    def test_a_refusal_comes_first_with_its_reason_and_what_to_do_and_no_invitation(self):
        page = render_plan(told(driver_steps=whole(refusals=(REFUSAL,))), "text")
        assert page.startswith("REFUSED  There is too little space. Nothing is changed.")
        assert "du -x /usr" in page
        assert "hostagent install" not in page
        assert "WHAT WOULD HAPPEN" in page

    def test_a_host_as_the_profile_wants_it_is_three_lines(self):
        assert render_plan(told(), "text").startswith("NOTHING TO DO  install would change nothing of driver, toolkit and runtime.\n")
        assert len(render_plan(told(driver_steps=Portion(steps=(step(done=True),))), "text").splitlines()) == 3

    def test_a_snapshot_says_that_no_repository_was_asked(self):
        page = render_plan(replace(told(driver_steps=whole()), replayed=True), "text")
        assert "A snapshot was read" in page
        assert "hostagent install" not in page

    @pytest.mark.parametrize("width", [40, 80, 120])
    def test_sentences_are_wrapped(self, width):
        one = told(driver_steps=Portion(steps=(step(title="word " * 30, why="word " * 30),)))
        assert max(map(len, render_plan(one, "text", width=width).splitlines())) <= width

    @with_examples(text=st.one_of(st.text(max_size=60), st.just(HOSTILE)), colour=st.booleans())
    @settings(deadline=None)
    def test_no_text_of_a_host_moves_the_cursor_or_breaks_the_document(self, text, colour):
        refusal = replace(REFUSAL, message=text, headline=text, found=text, remedy=(Step("configure", text, text),))
        packages = (PlannedPackage(text, "driver", text, text, "cuda", None),)
        steps = (step(title=text, why=text, do=(Write(f"/{text}", text), Run(("systemctl", "enable", text))), restarts=(text,)),)
        one = told(driver_steps=Portion(steps=steps, refusals=(refusal,), packages=packages, irreversible=(text,), reboot=(text,)))
        page = render_plan(one, "text", colour=colour)
        plain = (
            page if not colour else "".join(part.partition("m")[2] if number else part for number, part in enumerate(page.split("\x1b[")))
        )
        assert all(char.isprintable() or char == "\n" for char in plain)
        VALIDATE.validate(json.loads(render_plan(one, "json")))


#: A compiler as trixie brings it with DKMS: more packages of one version than the driver has.
COMPILER = tuple(PlannedPackage(f"{name}-14", "driver", None, "14.2.0-19", "distribution") for name in (
    "gcc", "g++", "cpp", "libgcc", "libstdc++", "libasan", "libubsan", "libtsan", "liblsan", "libhwasan", "libitm", "libquadmath"))  # fmt: skip
MANY = tuple(PlannedPackage(f"libperl-{number}", "driver", None, f"{number}.0-1", "distribution") for number in range(40))
NVIDIA = (
    PlannedPackage("libcuda1:amd64", "driver", None, "590.48.01-1", "cuda"),
    PlannedPackage("nvidia-kernel-open-dkms", "driver", None, "590.48.01-1", "cuda"),
    PlannedPackage("nvidia-persistenced", "driver", "580.1-1", None, ""),
    PlannedPackage("libnvidia-container1", "toolkit", None, "1.19.0-1", "toolkit"),
    PlannedPackage("cuda-toolkit-13-0", "cuda", None, "13.0.2-1", "cuda"),
)


def test_the_headline_has_the_version_of_the_driver_whatever_comes_with_it():
    several = (*COMPILER, *MANY, *NVIDIA)
    found = told(driver_steps=Portion(steps=(step(),), packages=several))
    page = render_plan(found, "text")
    assert page.splitlines()[0] == "TO DO  1 step: driver to 590.48.01-1, toolkit to 1.19.0-1."
    alone = render_plan(told(driver_steps=Portion(steps=(step(),), packages=COMPILER)), "text").splitlines()[0]
    assert alone == "TO DO  1 step: Install driver.packages."  # headers and a compiler are no driver


def test_the_packages_of_nvidia_come_first_and_are_never_cut_off():
    several = (*COMPILER, *MANY, *NVIDIA)
    found = told(driver_steps=Portion(steps=(step(),), packages=several))
    assert [one.name for one in found.packages[: len(NVIDIA)]] == [one.name for one in NVIDIA]
    assert [one.name for one in found.packages[len(NVIDIA) :]] == [one.name for one in (*COMPILER, *MANY)]
    rows = render_plan(found, "text").partition("\nPACKAGES\n")[2].splitlines()
    assert [row.split()[0] for row in rows[: len(NVIDIA)]] == [one.name for one in NVIDIA]
    assert f"and {len(several) - 40} more" in "\n".join(rows)


@pytest.mark.parametrize(
    ("part", "rows", "version"),
    [
        ("driver", [("gcc-14", "14.2.0-19"), ("cpp-14", "14.2.0-19"), ("nvidia-driver-cuda", "3:580.178.04-1.el9")], "3:580.178.04-1.el9"),
        ("driver", [("linux-modules-nvidia-580-server-open-generic", "6.8.0-87.88"), ("nvidia-utils-580-server", "580.159.03-0ubuntu0.24.04.1")],
         "580.159.03-0ubuntu0.24.04.1"),
        ("driver", [("libnvidia-egl-wayland1", "1:1.1.13-1"), ("libnvidia-egl-gbm1", "1.1.1-1"), ("libcuda1", "590.48.01-1")], "590.48.01-1"),
        ("driver", [("linux-headers-generic", "6.8.0-87.88"), ("nvidia-utils-580", "580.*")], "580.*"),
        ("driver", [("dkms", "3.0.11-1"), ("linux-headers-amd64", "6.12.57-1")], ""),
        ("driver", [("nvidia-utils-570", None)], ""),
        ("toolkit", [("libfoo", "2"), ("libbar", "2"), ("nvidia-container-toolkit", "1.19.0-1")], "1.19.0-1"),
        ("cuda", [("libcublas-13-0", "13.1.0.3-1"), ("libcufft-13-0", "13.1.0.3-1"), ("cuda-toolkit-13-0", "13.0.2-1")], "13.0.2-1"),
        ("docker", [("containerd", "1.7.28"), ("runc", "1.7.28"), ("docker.io", "28.2.2-1")], "28.2.2-1"),
        ("docker", [("docker-of-ours", "28.5.2-1")], "28.5.2-1"),  # DOCKER_PACKAGE names it
        ("cuda", [("nvidia-cuda-toolkit", "12.4.131-1")], "12.4.131-1"),
    ],
)  # fmt: skip
def test_a_part_comes_to_the_version_of_its_own_packages(part, rows, version):
    assert version_of(part, rows) == version
