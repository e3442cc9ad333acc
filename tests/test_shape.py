"""The shape of the code, which the other tests and linters do not see."""

import ast
import functools
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    path.relative_to(ROOT).as_posix() for folder in ("hostagent", "checks/hostagent_checks") for path in (ROOT / folder).rglob("*.py")
)


@functools.cache
def tree_of(path):
    """Where a test asks for it: who does not run these tests need not parse every module."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


BANNED = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}

#: Who may touch this machine, beside source/, and what for.
IO_ALLOWED = {
    "hostagent/kube/nodestatus.py": "urllib.parse: the path of a node",
    "hostagent/core/installation.py": "where this copy is, and what pip wrote down of it",
    "hostagent/daemon/unit.py": "the shipped unit, and who could change what it starts",
    "hostagent/core/smallfile.py": "reads the one file it is given",
    "hostagent/core/lockfile.py": "locks the one file it is given",
    "hostagent/profiles/files.py": "lists the built-in profiles",
    "hostagent/engine/catalogue.py": "lists the checks of a catalogue",
    "hostagent/engine/catalogue_import.py": "lists what a third party's check could import, to judge it",
    "hostagent/engine/collector_process.py": "the pipe to the child that reads, and how it is",
    "hostagent/engine/testing.py": "reads case files",
    "hostagent/snapshot/adoption.py": "writes the snapshots it is asked for",
    "hostagent/engine/report/state.py": "the state file",
    "hostagent/engine/report/daemon_lock.py": "the lock of a state directory",
    "hostagent/daemon/statedir.py": "who runs it",
    "hostagent/daemon/events.py": "waits for what happens",
    "hostagent/http/asker.py": "asks the kernel for the user of a connection",
    "hostagent/http/connection.py": "one connection of HTTP",
    "hostagent/http/server.py": "serves HTTP",
    "hostagent/daemon/page.py": "urllib.parse, and the file of the token",
    "hostagent/http/listening.py": "the socket that HTTP is served on",
    "hostagent/daemon/notify.py": "tells systemd",
    "hostagent/daemon/processes.py": "what its own two processes use",
    "hostagent/daemon/stuck.py": "whether a child of its own lives",
    "hostagent/daemon/publisher.py": "the socket to the loop",
    "hostagent/daemon/publisher_process.py": "the teller process and the socket to it",
    "hostagent/http/answer.py": "codes of HTTP, which reach nothing",
    "hostagent/kube/access.py": "whether a kubeconfig is there",
    "hostagent/kube/api.py": "urllib.parse, which reaches nothing",
    "hostagent/kube/client.py": "urllib.parse, which reaches nothing",
    "hostagent/kube/transport.py": "requests to the API server",
    "hostagent/kube/connection.py": "TLS, and the end of a connection",
    "hostagent/kube/config.py": "a kubeconfig, its files and its program",
    "hostagent/controller/loop.py": "an identity for the lease: the name of the host, and chance",
    "hostagent/core/filewrite.py": "writes a rendered report",
    "hostagent/cli/slurmoptions.py": "the name of the host",
    "hostagent/slurm/client.py": "scontrol",
    "hostagent/slurm/programs/spool.py": "the files of Slurm's programs",
    "hostagent/__main__.py": "ends this process, whatever happened",
    "hostagent/cli/ending.py": "ends this process by the signal that came",
    "hostagent/cli/streams.py": "standard output and standard error",
    "hostagent/cli/run.py": "whether the directory it works in is there",
    "hostagent/core/secret/address.py": "urllib.parse, which reaches nothing",
    "hostagent/core/secret/in_use.py": "urllib.parse, which reaches nothing",
    "hostagent/cli/commit.py": "which commit this is",
    "hostagent/cli/changing.py": "who runs it",
    "hostagent/cli/check.py": "who runs it",
    "hostagent/cli/folders.py": "lists the directories of logs and reports that a command is given",
    "hostagent/gate/backends/files.py": "lists the directory of reports that it is given",
    "hostagent/cli/logs.py": "reads the logs of jobs that it is given",
    "hostagent/cli/snapshot.py": "the key of a redaction",
}
IO_MODULES = {"subprocess", "socket", "shutil", "tempfile", "pathlib", "glob", "ctypes", "mmap", "multiprocessing", "urllib", "http", "psutil", "pynvml", "distro", "pyudev", "fcntl", "select"}  # fmt: skip
OS_PURE = {"path", "sep", "pathsep", "devnull", "environ", "fspath", "curdir", "linesep", "strerror"}
PATH_PURE = {"join", "dirname", "basename", "normpath", "splitext", "isabs", "relpath", "abspath", "split", "commonpath"}

#: 570.124.06, 1.19.0 … : what a driver, toolkit or CUDA version looks like.
VERSION = re.compile(r"(?<![\d.])(?:[3-9]\d\d\.\d{2,3}(?:\.\d{1,2})?|1\.1[0-9]\.\d+|1[0-3]\.\d\.\d{1,3})(?![\d.])")


def test_a_module_has_at_most_600_lines():
    assert [path for path in MODULES if len((ROOT / path).read_text(encoding="utf-8").splitlines()) > 600] == []


def test_a_function_has_at_most_60_lines():
    functions = [
        (f"{path}:{node.lineno} {node.name}", node.end_lineno - node.lineno + 1)
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert [one for one in functions if one[1] > 60] == []


def test_a_module_is_named_for_what_it_holds():
    assert [path for path in MODULES if BANNED & {part.removesuffix(".py") for part in path.split("/")}] == []


def test_a_module_says_what_it_is():
    silent = [path for path in MODULES if not ast.get_docstring(tree_of(path))]
    assert [path for path in silent if not path.startswith("checks/") or not path.endswith("__init__.py")] == []


def test_a_domain_imports_nothing_by_its_own_name():
    """So that one of its modules costs that module alone."""
    own = [path for path in MODULES if re.fullmatch(r"hostagent/domains/(\w+/)?__init__\.py", path)]
    assert len(own) > 1
    assert [path for path in own if any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree_of(path)))] == []


def test_a_topic_has_one_home():
    """Besides its domain a topic is in facts, in the command line, and in the family of its checks."""
    places = {re.sub(r"^(hostagent/domains/\w+|checks/hostagent_checks/\w+)/.*|/[^/]+$", r"\1", path) for path in MODULES if "nccl" in path}
    assert sorted(places) == ["checks/hostagent_checks/nccl", "hostagent/cli", "hostagent/domains/nccl", "hostagent/facts"]


def reaches(tree):
    """Lines that do I/O: the builtin open, parts of os and os.path that ask the kernel, modules made for it."""
    has_os = any(isinstance(node, ast.Import) and any(alias.name == "os" for alias in node.names) for node in ast.walk(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in ("open", "input", "__import__"):
            yield f"{node.lineno}: {node.id}"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from (f"{node.lineno}: imports {name}" for name in names if name.split(".")[0] in IO_MODULES)
        elif isinstance(node, ast.Attribute) and has_os:
            owner = ast.unparse(node.value)
            if (owner == "os" and node.attr not in OS_PURE) or (owner == "os.path" and node.attr not in PATH_PURE):
                yield f"{node.lineno}: {owner}.{node.attr}"


#: The homes of I/O: what reads a host, what runs what may hang, and what changes a host; and of each domain its readers.
HOMES = ("hostagent/host/", "hostagent/sandbox/", "hostagent/install/")
READERS = re.compile(r"hostagent/domains/\w+/read_\w+\.py")


def test_only_host_sandbox_readers_and_install_touch_the_host():
    found = {
        path: [line for line in reaches(tree_of(path)) if not (path.startswith("hostagent/cli/") and line.endswith("os.get_terminal_size"))]
        for path in MODULES
        if not path.startswith(HOMES) and not READERS.fullmatch(path) and path not in IO_ALLOWED
    }
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_an_exception_to_that_is_still_needed():
    assert [path for path in IO_ALLOWED if not list(reaches(tree_of(path)))] == [], "these do no I/O: take them off the list"


def test_the_lint_of_reach_sees_what_it_must():
    hidden = "import os\nimport subprocess\nfrom pathlib import Path\nopen('x')\nf = open\nos.listdir('/')\nos.path.exists('/')\n"
    assert len(list(reaches(ast.parse(hidden)))) == 6
    assert list(reaches(ast.parse("import os\nos.path.join('a', os.sep)"))) == []


def test_os_is_never_imported_under_another_name():
    renamed = [
        path
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "os" and alias.asname for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "os")
    ]
    assert renamed == []


def literals(tree):
    """Every text constant that is no docstring and no reference to a document, f-string parts among them."""
    told = {
        id(node)
        for keyword in ast.walk(tree)
        if isinstance(keyword, ast.keyword) and keyword.arg == "references"
        for node in ast.walk(keyword)
    }
    told |= {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in told and isinstance(node.value, str | float):
            yield node.lineno, str(node.value)


#: Tables of one part alone.
TABLES = {"hostagent/setup/tao.py", "hostagent/setup/distributions.py"}
#: Shows how a constraint is written.
EXAMPLE = "hostagent/facts/version.py"


def test_versions_live_in_the_profile_and_in_tables_alone():
    judged = [path for path in MODULES if "/tables/" not in path and path not in TABLES and path != EXAMPLE]
    assert [(path, line, text) for path in judged for line, text in literals(tree_of(path)) if VERSION.search(text)] == []


def test_the_lint_of_versions_knows_one_when_it_sees_it():
    assert all(VERSION.search(text) for text in ("580.142", "580.126.20", "toolkit 1.19.0 or newer", ">=570.124.06", "13.0.88"))
    assert not any(VERSION.search(text) for text in ("127.0.0.1", "0000:1b:00.0", "io.containerd.grpc.v1.cri", "32.0 GT/s", "2.1", "0.1"))


def test_the_engine_has_no_switch_that_exists_for_a_test():
    switch = re.compile(r"PYTEST|HOSTAGENT_TEST|in_test|_for_tests?\b")
    engine = [
        path for path in MODULES if path.startswith("hostagent/") and path not in {"hostagent/testing.py", "hostagent/engine/testing.py"}
    ]
    assert [path for path in engine if switch.search((ROOT / path).read_text(encoding="utf-8"))] == []


def refusals(tree):
    """Where a plan's `Refusal` is made by hand."""
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute))]
    return [node.lineno for node in made if (node.func.id if isinstance(node.func, ast.Name) else node.func.attr) == "Refusal"]


def test_one_function_says_why_a_plan_is_refused():
    """So that each message says what was found, then what is wanted."""
    made = {
        path: len(refusals(tree_of(path)))
        for path in MODULES
        if path.startswith(("hostagent/plan/", "hostagent/install/", "hostagent/cli/"))
    }
    assert {path: count for path, count in made.items() if count} == {"hostagent/plan/refusals/words.py": 1}


def tracked():
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("needs a checkout: git clone the project")
    return [name for name in done.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_the_machine_it_was_written_on_or_where_it_got_its_packages():
    """The path of this checkout, and hosts that serve packages: both differ at the next person's."""
    index = rb"(?i)index[-_]url\s*=?\s*https?://|pypi\.org|pythonhosted\.org|proxy\.golang\.org|deb\.debian\.org|archive\.ubuntu\.com"
    here = [re.escape(str(ROOT).encode()) + rb"(?![\w-])"] if len(ROOT.parts) > 2 else []  # /src is everybody's
    unwanted = re.compile(rb"|".join([index, *here]))
    assert [name for name in tracked() if unwanted.search((ROOT / name).read_bytes())] == []


def test_no_generated_file_is_tracked():
    assert [name for name in tracked() if re.search(r"(__pycache__|\.pyc|\.egg-info|\.orig|\.rej|\.swp|~)(/|$)", name)] == []


#: This machine's own files mounted below a directory, by mount(8) or mount(2).
BINDS_ROOT = re.compile(r'bind",\s*"/"|mount\(\s*"/",')
REMOVES = re.compile(r"TemporaryDirectory|rmtree|rm -r")


def test_no_test_that_mounts_this_machine_removes_a_directory_with_what_is_below_it():
    """A test that fails, or is stopped, would remove this machine's own files."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)}
    mounting = {str(path) for path, text in texts.items() if BINDS_ROOT.search(text)}
    assert mounting, "the lint sees none"
    assert [path for path in mounting if REMOVES.search(texts[Path(path)])] == []
