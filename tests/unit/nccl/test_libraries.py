"""NCCL's libraries and plug-ins: where they are found, in which order, of whom, and what a plug-in lacks."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.nccl.read_libraries import read_candidates, read_libraries, read_plugins
from hostagent.domains.nccl.read_nccl import read_nccl
from hostagent.engine.questions import live_backend
from hostagent.facts.nccl import NcclLibrary
from hostagent.host.source import Source
from hostagent.testing import host
from tests.trees.formats import linker_cache, nccl_library

LIB = "/usr/lib/x86_64-linux-gnu"
SITE = "lib/python3.11/site-packages/nvidia/nccl/lib"
NET = ("ncclNetPlugin_v10", "ncclNetPlugin_v9", "ncclCollNetPlugin_v10")


def source_of(files, job=None, kind="live"):
    return host({"environment": job or {}, "/etc/passwd": "", **files}, kind)


def read(files, job=None, kind="live"):
    source = source_of(files, job, kind)
    return read_from(source)


def read_from(source):
    found = read_candidates(source)
    libraries = read_libraries(source, found)
    return libraries, read_plugins(source, found, libraries)


def job_with(path):
    return {"variables": {"LD_LIBRARY_PATH": path}, "home": "", "people": []}


def cache(*entries):
    return {"/etc/ld.so.cache": linker_cache(entries)}


def test_a_host_without_any():
    assert read({}) == ((), ())


def test_ubuntus_package_is_one_library():
    files = cache(("libnccl.so.2", f"{LIB}/libnccl.so.2")) | {
        f"{LIB}/libnccl.so.2.27.3": nccl_library("2.27.3"),
        f"{LIB}/libnccl.so.2": ("link", "libnccl.so.2.27.3"),
        f"{LIB}/libnccl.so": ("link", "libnccl.so.2"),
    }
    assert read(files) == ((NcclLibrary(f"{LIB}/libnccl.so.2.27.3", "linker", "2.27.3", "12.9"),), ())


PLACES = {
    "/opt/a/libnccl.so.2": "LD_LIBRARY_PATH",
    "/opt/late/libnccl.so.2": "linker",
    f"{LIB}/libnccl.so.2": "linker",
    "/usr/local/lib/libnccl.so.2": "directory",
    "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu/libnccl.so.2": "directory",
    "/usr/local/gib/lib64/libnccl.so.2": "directory",
    "/usr/local/nccl-2.28/lib/libnccl.so.2": "directory",
    "/opt/nvidia/hpc_sdk/Linux_x86_64/25.9/comm_libs/nccl/lib/libnccl.so.2": "directory",
    "/usr/local/cuda-12.8/lib64/libnccl.so.2": "directory",
    "/usr/local/lib/python3.12/dist-packages/nvidia/nccl/lib/libnccl.so.2": "python",
    f"/opt/conda/{SITE}/libnccl.so.2": "python",
    "/opt/conda/lib/python3.11/site-packages/torch/lib/libnccl.so.2": "python",
    f"/opt/conda/envs/job/{SITE}/libnccl.so.2": "python",
}


def test_every_place_is_looked_at_in_the_order_of_the_search():
    files = dict.fromkeys(PLACES, nccl_library("2.28.9")) | cache(("libnccl.so.2", "/opt/late/libnccl.so.2"))
    files |= {"/opt/conda/bin/python3": "", "/opt/conda/envs/job/bin/python3": ""}
    libraries, _ = read(files, job_with("/opt/a:/nowhere"))
    assert {one.path: one.place for one in libraries} == PLACES
    order = [one.place for one in libraries]
    assert order == sorted(order, key=["LD_LIBRARY_PATH", "linker", "directory", "python"].index)


def test_what_has_no_python_is_not_searched_for_packages():
    assert read({f"/opt/conda/{SITE}/libnccl.so.2": nccl_library("2.28.9")}) == ((), ())


def test_a_link_that_leads_nowhere_and_other_names_are_none():
    files = {
        f"{LIB}/libnccl.so.2": ("link", "libnccl.so.2.20.5"),
        f"{LIB}/libncclx.so": "",
        f"{LIB}/libnccl_static.a": "",
        f"{LIB}/libnccl": "",
    }
    assert read(files | cache(("libnccl.so.2", "/gone/libnccl.so.2"))) == ((), ())


@pytest.mark.parametrize(
    ("data", "version", "cuda"),
    [
        (nccl_library("2.18.3", "12.2"), "2.18.3", "12.2"),
        (nccl_library(), "error", "error"),
        (b"INPUT(libnccl.so.2)", "error", "error"),
    ],
)
def test_its_version_is_what_it_says_or_unread(data, version, cuda):
    (one,), _ = read({f"{LIB}/libnccl.so.2": data})
    assert [value.why if isinstance(value, Unread) else value for value in (one.version, one.cuda)] == [version, cuda]


# What nobody could look at.


def test_a_file_that_may_not_be_read_is_there_all_the_same():
    (one,), _ = read({f"{LIB}/libnccl.so.2": "", f"nccl_library {LIB}/libnccl.so.2": Unread("denied", "x")})
    assert (one.version.why, one.cuda.why) == ("denied", "denied")


@pytest.mark.parametrize("question", ["list /opt", f"list {LIB}", "read /etc/ld.so.cache 16777216", "environment", "stat /", "stat /opt/x"])
@pytest.mark.parametrize("why", ["denied", "not-recorded", "timeout", "error"])
def test_a_place_that_could_not_be_looked_at_is_never_an_empty_one(question, why):
    libraries, plugins = read({f"{LIB}/libnccl.so.2": nccl_library("2.28.9"), "/opt/x/y": "", question: Unread(why, "x")})
    assert (libraries.why, plugins.why) == (why, why)


def test_an_image_is_searched_as_a_host_is():
    libraries, _ = read({f"{LIB}/libnccl.so.2": nccl_library("2.28.9")}, kind="image")
    assert [one.version for one in libraries] == ["2.28.9"]


# Plug-ins.


def test_a_plug_in_has_all_its_names_and_what_it_offers():
    ofi = "/opt/amazon/ofi-nccl/lib"
    files = {
        f"{ofi}/libnccl-net-ofi.so": nccl_library(symbols=(*NET, "ncclTunerPlugin_v3"), needed=("libc.so.6", "libfabric.so.1")),
        f"{ofi}/libnccl-net.so": ("link", "libnccl-net-ofi.so"),
        f"{ofi}/libnccl-ofi-tuner.so": nccl_library(symbols=("ncclTunerPlugin_v3",), needed=()),
        f"{LIB}/libc.so.6": "",
    }
    _, plugins = read(files)
    assert [(one.path, one.place, one.names, one.kinds, one.needed, one.missing) for one in plugins] == [
        (
            f"{ofi}/libnccl-net-ofi.so", "directory", ("libnccl-net-ofi.so", "libnccl-net.so"), ("collnet", "net", "tuner"),
            ("libc.so.6", "libfabric.so.1"), ("libfabric.so.1",),
        ),
        (f"{ofi}/libnccl-ofi-tuner.so", "directory", ("libnccl-ofi-tuner.so",), ("tuner",), (), ()),
    ]  # fmt: skip


def test_the_loader_finds_a_plug_in_by_its_names_in_the_loaders_places_alone():
    files = {"/opt/x/libnccl-net-ofi.so": nccl_library(symbols=NET, needed=())}
    files |= {"/usr/local/gib/lib64/libnccl-net.so": ("link", "/opt/x/libnccl-net-ofi.so")}
    _, (one,) = read(files, job_with("/opt/x"))
    assert (one.place, one.names) == ("LD_LIBRARY_PATH", ("libnccl-net-ofi.so",))
    _, (one,) = read(files)
    assert (one.path, one.place, one.names) == ("/usr/local/gib/lib64/libnccl-net.so", "directory", ("libnccl-net.so",))


def test_one_that_a_setting_names_counts_wherever_it_lies_and_whoever_may_write_it():
    plugin = nccl_library(symbols=NET, needed=())
    files = {"/srv/own.so": plugin, "/etc/nccl.conf": "NCCL_NET_PLUGIN=/srv/own.so\nNCCL_TUNER_PLUGIN=/gone.so\nNCCL_PROFILER_PLUGIN=x\n"}
    _, (one,) = read(files)
    assert (one.path, one.names, one.place, one.kinds) == ("/srv/own.so", ("own.so",), "setting", ("collnet", "net"))
    job = {"variables": {"NCCL_NET_PLUGIN": "/home/alice/own.so"}, "home": "/home/alice", "people": ["alice"]}
    _, (one,) = read({"/home/alice/own.so": plugin}, job)
    assert (one.path, one.place) == ("/home/USER/own.so", "setting")


def test_one_that_a_setting_names_and_the_loader_finds_is_one():
    files = {f"{LIB}/libnccl-net.so": nccl_library(symbols=NET, needed=()), "/etc/nccl.conf": f"NCCL_NET_PLUGIN={LIB}/libnccl-net.so\n"}
    _, (one,) = read(files)
    assert (one.path, one.place) == (f"{LIB}/libnccl-net.so", "linker")


def test_paths_are_shown_without_people():
    files = {"/home/alice/lib/libnccl.so.2": nccl_library("2.28.9"), "/data/alice/libnccl.so.2": nccl_library()}
    job = {"variables": {"LD_LIBRARY_PATH": "/home/alice/lib:/data/alice"}, "home": "/home/alice", "people": ["alice"]}
    (one, other), _ = read(files, job)
    assert (one.path, one.version, other.path) == ("/home/USER/lib/libnccl.so.2", "2.28.9", "/data/USER/libnccl.so.2")
    assert "alice" not in other.version.detail


KINDS = {
    "ncclNetPlugin_v11": "net", "ncclCollNetPlugin_v8": "collnet", "ncclTunerPlugin_v4": "tuner", "ncclProfiler_v5": "profiler",
    "ncclProfilerPlugin_v1": "profiler", "ncclEnvPlugin_v1": "env", "ncclGinPlugin_v11": "gin", "ncclRmaPlugin_v1": "rma",
}  # fmt: skip


@pytest.mark.parametrize("symbol", KINDS)
def test_each_interface_is_a_kind(symbol):
    _, (one,) = read({f"{LIB}/libnccl-x.so": nccl_library(symbols=(symbol,), needed=())})
    assert one.kinds == (KINDS[symbol],)


def test_one_that_is_no_library_has_neither_kinds_nor_a_verdict_on_what_it_lacks():
    _, (one,) = read({f"{LIB}/libnccl-net.so": "text"})
    assert (one.kinds.why, one.needed.why, one.missing.why) == ("error", "error", "error")


FABRIC = "libfabric.so.1"


@pytest.mark.parametrize(
    ("files", "runpath", "search", "missing"),
    [
        ({}, "", "", (FABRIC,)),
        (cache((FABRIC, "/opt/amazon/efa/lib/libfabric.so.1")), "", "", (FABRIC,)),  # the cache is older than the removal
        (cache((FABRIC, "/opt/amazon/efa/lib/libfabric.so.1")) | {"/opt/amazon/efa/lib/libfabric.so.1": ""}, "", "", ()),
        ({f"{LIB}/{FABRIC}": ""}, "", "", ()),
        ({f"/usr/lib64/{FABRIC}": ""}, "", "", ()),
        ({f"/opt/efa/{FABRIC}": ""}, "/opt/none:/opt/efa", "", ()),
        ({f"/usr/local/gib/deps/{FABRIC}": ""}, "$ORIGIN/../deps", "", ()),
        ({f"/usr/local/gib/lib64/{FABRIC}": ""}, "${ORIGIN}", "", ()),
        ({f"/usr/local/gib/lib64/{FABRIC}": ""}, "", "", (FABRIC,)),  # beside the plug-in is not where the loader looks
        ({f"/opt/efa/{FABRIC}": ""}, "", "/opt/efa", ()),
        ({f"/opt/efa/{FABRIC}": ("link", "gone")}, "", "/opt/efa", (FABRIC,)),
        ({f"/opt/$LIB/{FABRIC}": ""}, "/opt/$LIB", "", (FABRIC,)),  # what the loader makes of it is not known
    ],
)
def test_a_library_is_missing_where_the_loader_does_not_find_it(files, runpath, search, missing):
    plugin = {"/usr/local/gib/lib64/libnccl-net.so": nccl_library(symbols=NET, needed=(FABRIC,), runpath=runpath)}
    _, (one,) = read(plugin | files, job_with(search) if search else None)
    assert one.missing == missing


def test_what_every_job_has_loaded_and_what_the_driver_brings_is_not_missing():
    needed = ("libcuda.so.1", "libcudart.so.12", "libnccl.so.2", "libnvidia-ml.so.1", "ld-linux-x86-64.so.2")
    _, (one,) = read({f"{LIB}/libnccl-net.so": nccl_library(symbols=NET, needed=needed)})
    assert (one.missing, one.needed) == ((), tuple(sorted(needed)))


def test_a_place_of_a_needed_library_that_could_not_be_looked_at_leaves_it_open():
    files = {f"{LIB}/libnccl-net.so": nccl_library(symbols=NET, needed=(FABRIC,)), f"realpath /usr/lib64/{FABRIC}": Unread("denied", "x")}
    _, (one,) = read(files)
    assert (one.missing.why, one.kinds) == ("denied", ("collnet", "net"))


# Who may write.


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "usr/local/nccl/lib").mkdir(parents=True)
    (tmp_path / "usr/local/nccl/lib/libnccl.so.2").write_bytes(nccl_library("2.28.9"))
    for place, _, names in os.walk(tmp_path):
        os.chmod(place, 0o755)
        for name in names:
            os.chmod(f"{place}/{name}", 0o644)
    return tmp_path


def versions(tree, job=None):
    early = {("environment",): job} if job else {}
    source = Source(live_backend(str(tree), "image"), cached=early)
    found = read_libraries(source, read_candidates(source))
    return [one.version for one in found]


JOB = job_with("/nowhere")


def test_one_that_only_root_may_write_counts(tree):
    assert versions(tree) == versions(tree, JOB) == ["2.28.9"]


@pytest.mark.parametrize("path", ["usr", "usr/local", "usr/local/nccl", "usr/local/nccl/lib", "usr/local/nccl/lib/libnccl.so.2"])
@pytest.mark.parametrize("mode", [0o002, 0o022])
def test_one_that_others_may_write_counts_with_an_environment_alone(tree, path, mode):
    os.chmod(tree / path, os.stat(tree / path).st_mode | mode)
    assert (versions(tree), versions(tree, JOB)) == ([], ["2.28.9"])


@pytest.mark.parametrize("path", ["usr/local/nccl", "usr/local/nccl/lib/libnccl.so.2"])
def test_one_that_is_somebody_elses_counts_with_an_environment_alone(tree, path):
    os.chown(tree / path, 1000, -1)
    assert (versions(tree), versions(tree, JOB)) == ([], ["2.28.9"])


@pytest.mark.parametrize(("group", "counts"), [(0, True), (50, False)])
def test_a_group_that_may_write_is_others_unless_it_is_roots(tree, group, counts):
    os.chown(tree / "usr/local", 0, group)
    os.chmod(tree / "usr/local", 0o2775)
    assert bool(versions(tree)) == counts


def test_whose_copy_an_image_is_does_not_matter(tree):
    for place, directories, names in os.walk(tree):
        for name in (".", *directories, *names):
            os.chown(f"{place}/{name}", 1000, 1000)
    assert versions(tree) == ["2.28.9"]


def test_a_link_to_what_others_may_write_does_not_count(tree):
    (tree / "scratch").mkdir()
    os.rename(tree / "usr/local/nccl/lib", tree / "scratch/lib")
    os.chmod(tree / "scratch", 0o1777)
    os.symlink("/scratch/lib", tree / "usr/local/nccl/lib")
    assert (versions(tree), versions(tree, JOB)) == ([], ["2.28.9"])


# Hostile trees.


def test_cycles_fifos_and_links_out_of_the_tree(tree):
    lib = tree / "usr/local/nccl/lib"
    os.symlink("libnccl-b.so", lib / "libnccl-a.so")
    os.symlink("libnccl-a.so", lib / "libnccl-b.so")
    os.mkfifo(lib / "libnccl-fifo.so")
    (lib / "libnccl-directory.so").mkdir()
    os.symlink("../" * 30 + "etc/hostname", lib / "libnccl-out.so")
    os.symlink(".", tree / "usr/local/nccl/libs")
    source = Source(live_backend(str(tree), "image"))
    found = read_candidates(source)
    assert isinstance(found, Unread)  # a link without an end is not a link that leads nowhere
    os.unlink(lib / "libnccl-a.so")
    os.unlink(lib / "libnccl-b.so")
    libraries, plugins = read_from(Source(live_backend(str(tree), "image")))
    assert [one.version for one in libraries] == ["2.28.9"]
    assert {one.names[0]: one.kinds.why for one in plugins} == {
        "libnccl-directory.so": "error",
        "libnccl-fifo.so": "error",
    }


def test_what_others_may_write_costs_only_what_is_theirs(tree):
    home = tree / "opt/theirs"
    (home / "bin").mkdir(parents=True)
    (home / "bin/python3").touch()
    for number in range(3000):
        (home / f"lib/python3.{number}/site-packages").mkdir(parents=True)
    os.chown(home, 1000, 1000)
    assert versions(tree) == ["2.28.9"]


def test_thousands_of_links_to_one_file_are_too_much_to_look_at(tree):
    for number in range(600):
        os.symlink("libnccl.so.2", tree / f"usr/local/nccl/lib/libnccl-{number}.so")
    source = Source(live_backend(str(tree), "image"))
    assert "more than 500" in read_candidates(source).detail


def test_thousands_of_directories_are_too_much_to_look_at(tree):
    for number in range(3000):
        (tree / f"opt/{number}").mkdir(parents=True)
    source = Source(live_backend(str(tree), "image"))
    assert "more than 2000" in read_candidates(source).detail


@given(st.text(alphabet="/$:;.lib ORIGIN{}\x00\x1b\ufffd", max_size=60))
def test_any_library_path_is_searched_or_left_out(path):
    libraries, plugins = read({f"{LIB}/libnccl.so.2": nccl_library("2.28.9")}, job_with(path))
    assert isinstance(libraries, Unread) or "2.28.9" in [one.version for one in libraries]
    assert isinstance(plugins, tuple | Unread)


def test_a_directory_whose_path_is_not_kept_is_unknown_and_not_empty():
    libraries, plugins = read({}, job_with("/opt/a:/x/<removed>"))
    assert (libraries.why, plugins.why) == ("error", "error")


@pytest.mark.parametrize("why", ["denied", "error"])
def test_why_something_was_not_read_names_nobody(why):
    job = {"variables": {"LD_LIBRARY_PATH": "/home/bob/lib:/data/alice/lib"}, "home": "/data/alice", "people": ["alice"]}
    own, plugin = "/home/bob/lib/libnccl.so.2", "/data/alice/lib/libnccl-net.so"
    found = read_nccl(
        source_of(
            {
                own: b"",
                plugin: b"",
                f"nccl_library {own}": Unread(why, f"{own}: no"),
                f"nccl_library {plugin}": Unread(why, f"{plugin}: no"),
                "read /data/alice/.nccl.conf": Unread(why, "/data/alice/.nccl.conf"),
            },
            job,
        ),
        lambda _: None,
    )
    assert found.libraries[0].version.detail == "/home/USER/lib/libnccl.so.2: no"
    assert (found.plugins.why, found.settings.why) == (why, why)
    assert [name for name in ("alice", "bob") if name in repr(found)] == []
    assert [name for name in ("alice", "bob") if name in found.libraries[0].version.question] == []
