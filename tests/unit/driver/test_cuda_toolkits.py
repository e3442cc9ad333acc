"""CUDA toolkits below /usr/local: which there are, their versions, and what leads to them."""

import json
import os

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.driver.read_cuda import read_cuda
from hostagent.engine.questions import live_backend
from hostagent.facts.cuda import Cuda, CudaToolkit
from hostagent.facts.packages import Package, Packages
from hostagent.host.source import Source
from hostagent.testing import host

NOBODY = Unread("absent", "no packages")
PATH = "/usr/local/cuda-13.0"


def version(text="13.0.2"):
    return json.dumps({"cuda": {"name": "CUDA SDK", "version": text}})


def installed(**versions):
    """Packages by name with underscores."""
    rows = [
        Package(name.replace("_", "-"), f"{one}-1", one, "amd64", "installed", held=False, origin="cuda") for name, one in versions.items()
    ]
    return Packages("dpkg", tuple(rows), *[Unread("absent", "not said")] * 11)


def read(files, packages=NOBODY):
    return read_cuda(host(files), lambda _: packages)


def compiler(mode=0o755):
    return {f"stat {PATH}/bin/nvcc": {"kind": "file", "mode": mode, "uid": 0, "gid": 0, "size": 1, "mtime": 0.0, "major": 0, "minor": 0}}


def test_a_toolkit_is_read_by_its_own_folder_and_all_names_lead_to_it():
    links = {
        "/usr/local/cuda": ("link", "/etc/alternatives/cuda"), "/etc/alternatives/cuda": ("link", PATH), "/usr/local/cuda-13": ("link", "cuda-13.0")
    }  # fmt: skip
    found = read({f"{PATH}/version.json": version(), f"{PATH}/bin/nvcc": "", **compiler(), **links})
    names = ("/usr/local/cuda", "/usr/local/cuda-13", PATH)
    assert found == Cuda((CudaToolkit(PATH, "13.0.2", nvcc=True, names=names),), PATH)


def test_no_toolkit_is_an_answer_and_not_a_gap():
    assert read({}) == Cuda((), "")
    assert read({"/usr/local/bin/x": "", "/usr/local/cudaworks/x": "", "/usr/local/cuda-old/x": ""}) == Cuda((), "")


def test_a_link_that_leads_nowhere_is_no_toolkit():
    assert read({"/usr/local/cuda": ("link", "/usr/local/cuda-12.9"), "/usr/local/bin/x": ""}) == Cuda((), "")


def test_a_compiler_that_may_not_be_executed_is_none():
    for files, wanted in (
        ({}, False),
        ({f"{PATH}/bin/nvcc": "", **compiler(0o644)}, False),
        ({f"{PATH}/bin/nvcc": "", **compiler()}, True),
    ):
        assert read({f"{PATH}/version.json": version(), **files}).toolkits[0].nvcc is wanted


@pytest.mark.parametrize(
    ("files", "packages", "wanted"),
    [
        ({"version.txt": "CUDA Version 10.2.89\n"}, NOBODY, "10.2.89"),
        ({"version.json": "{"}, installed(cuda_toolkit_13_0="13.0.2"), "13.0.2"),
        ({"lib/x": ""}, installed(cuda_nvcc_13_0="13.0.88"), "13.0"),
        ({"version.json": version()}, installed(cuda_toolkit_13_0="13.0.1"), "13.0.2"),
    ],
)
def test_the_version_is_that_of_its_file_else_of_its_package(files, packages, wanted):
    found = read({f"{PATH}/{name}": text for name, text in files.items()}, packages)
    assert found.toolkits[0].version == wanted


@pytest.mark.parametrize("text", ["{", "[]", '{"cuda": 13}', '{"cuda": {"version": 13}}', "[" * 5000, "\udcff", ""])
def test_a_broken_version_file_is_an_error(text):
    found = read({f"{PATH}/version.json": text.encode("utf-8", "surrogateescape")})
    assert found.toolkits[0].version.why == "error"
    assert PATH in found.toolkits[0].version.detail or "version.json" in found.toolkits[0].version.detail


def test_a_folder_without_any_version_says_so():
    found = read({f"{PATH}/lib/x": ""}).toolkits[0]
    assert (found.version.why, found.nvcc) == ("absent", False)


def test_what_may_not_be_looked_at_is_a_gap():
    denied = Unread("denied", "list /usr/local")
    assert read({"list /usr/local": denied}) == Cuda(denied, denied)
    found = read({f"{PATH}/x": "", f"stat {PATH}/bin/nvcc": denied, f"{PATH}/version.json": denied}).toolkits[0]
    assert (found.nvcc.why, found.version.why) == ("denied", "denied")


def test_more_than_anybody_has_is_an_error():
    found = read({f"/usr/local/cuda-{number}.0/x": "" for number in range(100)})
    assert found.toolkits.why == "error"


def test_links_of_an_image_stay_inside_it(tmp_path):
    (tmp_path / "usr/local").mkdir(parents=True)
    (tmp_path / "etc/alternatives").mkdir(parents=True)
    os.symlink("/etc/alternatives/cuda", tmp_path / "usr/local/cuda")
    os.symlink(PATH, tmp_path / "etc/alternatives/cuda")
    os.symlink("/nonexistent", tmp_path / "usr/local/cuda-12")
    (tmp_path / PATH[1:] / "bin").mkdir(parents=True)
    (tmp_path / PATH[1:] / "version.json").write_text(version())
    (tmp_path / PATH[1:] / "bin/nvcc").write_text("")
    (tmp_path / PATH[1:] / "bin/nvcc").chmod(0o755)
    found = read_cuda(Source(live_backend(str(tmp_path), "image")), lambda _: NOBODY)
    assert found == Cuda((CudaToolkit(PATH, "13.0.2", nvcc=True, names=("/usr/local/cuda", PATH)),), PATH)
