"""S17, S18, S12: exit 1 is a verdict and nothing else, and whatever ends a run leaves nothing of it."""

import fcntl
import json
import os
import pty
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from tests import stub_nvml
from tests.attack.held_run import some
from tests.attack.refusing import NUMBERS
from tests.real.conftest import need_real

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
ROOT = Path(__file__).parents[2]
NO_GPU = str(ROOT / "tests/hosts/no-gpu-vm")
CHECK = [HOSTAGENT, "check", "--profile", "default", "--from", NO_GPU]
LIVE = [HOSTAGENT, "check", "--only", "os", "--only", "gpu"]
USAGE = [HOSTAGENT, "check", "--nonsense"]
PLACEABLE, REFUSED = ("READY", "DEGRADED"), ("NOT READY", "UNKNOWN")
VERDICTS = PLACEABLE + REFUSED


def run(argv, **options):
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, **options)


def held(done, started):
    """0 and 1 come with a verdict on standard output; else it is 2 and nothing there. `started`: whether Python itself starts and finds
    hostagent under the same conditions: where it does not, the exit code is its own.
    """
    if done.stdout:
        assert done.stdout.startswith(PLACEABLE if done.returncode == 0 else REFUSED), done
        assert done.returncode in (0, 1)
    elif done.returncode != 2:
        assert not started(), done


def told(done):
    """In a sentence, where there is no verdict."""
    assert "Traceback" not in done.stderr or done.stderr.startswith("Error processing line"), done.stderr  # by site, of a .pth
    assert "This is a bug" not in done.stderr, done.stderr


STARTED = [sys.executable, "-c", "import hostagent.__main__, sys; sys.stdout.write('started')"]


def limited(what, amount, argv):
    def limit():
        resource.setrlimit(what, (amount, amount))

    for _ in range(3):
        done = run(argv, preexec_fn=limit)
        if done.returncode not in (-signal.SIGSEGV, -signal.SIGABRT) or what != resource.RLIMIT_AS:
            break  # else Python itself had no memory to go on with (1 of 900 at 26 MiB), which depends on where the kernel put everything
    held(done, lambda: run(STARTED, preexec_fn=limit).stdout)
    return done


@pytest.mark.parametrize("argv", [CHECK, LIVE], ids=["replay", "live"])
@pytest.mark.parametrize("descriptors", range(3, 12))
def test_without_descriptors(argv, descriptors):
    done = limited(resource.RLIMIT_NOFILE, descriptors, argv)
    if done.returncode == 2:
        told(done)


@pytest.mark.parametrize("argv", [CHECK, LIVE], ids=["replay", "live"])
@pytest.mark.parametrize("mib", [10, 12, 14, 16, 18, 19, 20, 21, 22, 23, 24, 26, 28, 32, 40, 60])
def test_without_memory(argv, mib):
    """Python may fail anywhere then (SystemError), so a traceback is no surprise."""
    limited(resource.RLIMIT_AS, mib << 20, argv)


@pytest.fixture(scope="module")
def verdicts():
    return [next(word for word in VERDICTS if run(argv).stdout.startswith(word)) for argv in (CHECK, LIVE)]


@pytest.mark.parametrize(
    "name", some(NUMBERS, 2, ("open", "read", "write", "clone", "fork", "exec", "pipe", "mmap", "wait", "landlock", "seccomp"))
)
def test_a_system_call_that_is_refused_makes_no_verdict(name, verdicts):
    refusing = [sys.executable, "-m", "tests.attack.refusing", name, sys.executable]
    for argv, verdict in zip((CHECK, LIVE), verdicts, strict=True):
        done = run([*refusing, *argv], cwd=ROOT)
        held(done, lambda: run([*refusing, *STARTED[1:]], cwd=ROOT).stdout)
        if done.returncode == 2:
            told(done)
        if done.stdout:
            assert done.stdout.startswith((verdict, "UNKNOWN")), done


@pytest.mark.parametrize("argv", [CHECK, USAGE, [HOSTAGENT, "status"], [HOSTAGENT, "-h"], [HOSTAGENT], [HOSTAGENT, "checks", "list"]])
@pytest.mark.parametrize("streams", [">/dev/full 2>/dev/full", ">&- 2>&-", ">&- 2>&- <&-", ">/dev/full 2>&-", "1</dev/null 2</dev/null"])
def test_where_nothing_can_be_written_it_exits_2(argv, streams):
    assert run(["/bin/sh", "-c", f'exec "$@" {streams}', "sh", *argv]).returncode == 2


@pytest.mark.parametrize("streams", ["2>/dev/full", "2>&-", "<&-"])
def test_a_verdict_needs_standard_output_alone(streams):
    done = run(["/bin/sh", "-c", f'exec "$@" {streams}', "sh", *CHECK])
    assert (done.returncode, done.stdout.partition("  ")[0], done.stderr) == (1, "NOT READY", "")


def test_what_goes_wrong_is_never_told_on_standard_output(tmp_path):
    newer = tmp_path / "newer.yaml"
    newer.write_text("schema_version: '1.999'\nlater: 1\n")
    for argv in (USAGE, [HOSTAGENT, "check", "--from", "/nonexistent"], [HOSTAGENT, "profile", "show", "nonsense"]):
        assert run(["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *argv]).stdout == ""
    shown = run(["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", HOSTAGENT, "profile", "show", str(newer), "--format", "json"])
    assert json.loads(shown.stdout)


def test_a_non_blocking_pipe_gets_all_of_it_and_stays_as_it_is():
    listening, telling = os.pipe()
    os.set_blocking(telling, False)
    got = []

    def listen():
        time.sleep(0.5)
        with open(listening, "rb") as stream:
            got.append(stream.read())

    reader = threading.Thread(target=listen)
    reader.start()
    done = subprocess.run([*CHECK, "--format", "json"], stdout=telling, check=False, timeout=60)
    assert not os.get_blocking(telling)
    os.close(telling)
    reader.join(10)
    assert (done.returncode, json.loads(got[0])["verdict"]["single_node"]) == (1, "not_ready")


@pytest.mark.parametrize(
    "variables",
    [
        {"_HOSTAGENT_COMPLETE": "bash_source"},
        {"_HOSTAGENT_COMPLETE": "bash_complete", "COMP_WORDS": "hostagent", "COMP_CWORD": "0"},
        {"_HOSTAGENT_COMPLETE": "nonsense"},
        {"PYTHONINSPECT": "1"},
        {"PYTHONOPTIMIZE": "2"},
        {"PYTHONDEVMODE": "1"},
        {"PYTHONUNBUFFERED": "1"},
        {"PYTHONDONTWRITEBYTECODE": "1"},
        {"PYTHONSAFEPATH": "1"},
        {"PYTHONNOUSERSITE": "1"},
        {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "utf-16"},
        {"PYTHONFAULTHANDLER": "1"},
        {"PYTHONMALLOC": "debug"},
        {"PYTHONINTMAXSTRDIGITS": "640"},
        {"PYTHONHASHSEED": "1"},
        {"COLUMNS": "²"},
        {"COLUMNS": "1"},
        {"COLUMNS": "0"},
        {"COLUMNS": "-5"},
        {"COLUMNS": "9" * 5000},
        {"COLUMNS": "99999999"},
        {"LC_ALL": "de_DE.ISO-8859-1"},
        {"LC_ALL": "tr_TR.UTF-8", "LANGUAGE": "tr"},
        {"TZ": "../../../etc/passwd"},
        {"HOME": "/nonexistent", "TMPDIR": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"},
        {"NO_COLOR": "1", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "TERM": "\x1b[2J"},
        {"PATH": ""},
        {"CLICK_COMPLETE": "1", "HOSTAGENT_PROFILE": "any", "HOSTAGENT_FROM": "/", "CHECK_PROFILE": "any"},
    ],
    ids=lambda variables: ",".join(f"{name}={value[:12]}" for name, value in variables.items()),
)
def test_no_variable_makes_a_host_that_is_not_ready_anything_else(variables):
    done = run(CHECK, env={**os.environ, **variables}, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert "NOT READY" in done.stdout.replace("\0", "")
    assert "Traceback" not in done.stderr


def test_completion_works_without_arguments_alone():
    def completed(**variables):
        return run([HOSTAGENT], env={**os.environ, **variables})

    for shell in ("bash", "zsh", "fish"):
        assert "_HOSTAGENT_COMPLETE" in completed(_HOSTAGENT_COMPLETE=f"{shell}_source").stdout
    assert completed(_HOSTAGENT_COMPLETE="zsh_complete", COMP_WORDS="hostagent sna", COMP_CWORD="1").stdout.startswith("plain\nsnapshot\n")
    assert completed(_HOSTAGENT_COMPLETE="nonsense").returncode == 2


@pytest.mark.parametrize("seconds", ["nan", "-nan", "inf", "-inf", "1e999", "0", "-1", "3601", "²", "1_0e400", ""])
def test_a_deadline_that_is_none_is_refused(seconds):
    done = run([*CHECK, "--deadline", seconds])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith("Error: Invalid value for '--deadline': ")


@pytest.fixture
def theirs(tmp_path):
    """A directory with a module of every name that hostagent, or what it needs, could look for there."""
    (tmp_path / "started.py").write_text("import sys; print(*sys.modules)")
    started = run(
        [sys.executable, "-m", "started"], cwd=tmp_path
    ).stdout.split()  # Python looks for these before the module it is asked for
    names = sys.stdlib_module_names - {name.partition(".")[0] for name in started}
    for name in (*names, "click", "yaml", "psutil", "pynvml", "distro", "tomli", "hostagent_checks"):
        (tmp_path / f"{name}.py").write_text(f"import posix; posix.write(1, b'{name} ran\\n'); posix._exit(0)\n")
    return tmp_path


@pytest.mark.parametrize(
    ("argv", "variables"),
    [
        ([sys.executable, "-m", "hostagent"], {}),
        ([sys.executable, "-m", "hostagent"], {"PYTHONSAFEPATH": "1"}),
        ([sys.executable, "-I", "-m", "hostagent"], {}),
        ([sys.executable, str(ROOT / "hostagent/__main__.py")], {"PYTHONPATH": str(ROOT)}),
        ([HOSTAGENT], {}),
    ],
)
def test_nothing_of_the_current_directory_is_imported(theirs, argv, variables):
    for arguments in (CHECK[1:], ["status", "--state-file", "/nonexistent"]):
        done = run([*argv, *arguments], cwd=theirs, env={**os.environ, **variables})
        assert (done.returncode, done.stdout.split()[0], done.stderr) == (1, "NOT" if arguments[0] == "check" else "UNKNOWN:", "")


@pytest.mark.parametrize("path", [":", "/nonexistent:", ":/nonexistent", "/nonexistent::/nonexistent2"])
def test_an_empty_entry_of_pythonpath_is_not_the_current_directory(tmp_path, path):
    """What Python itself imports at its start (sitecustomize) came before us."""
    for name in ("click", "yaml", "psutil", "hostagent_checks"):
        (tmp_path / f"{name}.py").write_text(f"import posix; posix.write(1, b'{name} ran\\n'); posix._exit(0)\n")
    for argv in ([HOSTAGENT], [sys.executable, "-m", "hostagent"]):
        done = run([*argv, *CHECK[1:]], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path})
        assert (done.returncode, done.stdout.split()[0], done.stderr) == (1, "NOT", "")


class TestSignals:
    @pytest.fixture
    def hanging(self, tmp_path):
        """A check of a host whose driver never answers, as a function of what starts it."""
        need_real("gcc", "apt-get install gcc libc6-dev")
        tree = tmp_path / "host"
        for place in ("proc/sys/kernel", "sys/devices"):
            (tree / place).mkdir(parents=True)
        stub_nvml.install(tree, 1, {"Init *": "hang"})

        def start(*before, **options):
            running = subprocess.Popen(
                [*before, HOSTAGENT, "check", "--host-root", str(tree), "-o", str(tmp_path / "report")], stderr=subprocess.PIPE, **options
            )
            wait_until(lambda: len(processes(tree)) >= 3)  # the run, its worker, the reading child
            return running

        yield start
        assert not wait_until(lambda: not processes(tree)) or processes(tree) == []
        assert sorted(os.listdir(tmp_path)) == ["host"], "no report, no rest of one"

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGQUIT])
    def test_a_signal_ends_all_of_it_and_is_seen_by_who_waits(self, hanging, number):
        running = hanging()
        running.send_signal(number)
        assert running.wait(5) == -number
        assert running.stderr.read() == b""

    def test_an_interrupt_says_so(self, hanging):
        running = hanging()
        running.send_signal(signal.SIGINT)
        assert (running.wait(5), running.stderr.read()) == (130, b"Interrupted.\n")

    def test_two_at_once_as_timeout_sends_them(self, hanging):
        running = hanging()
        for _ in range(5):
            running.send_signal(signal.SIGTERM)
        assert (running.wait(5), running.stderr.read()) == (-signal.SIGTERM, b"")

    def test_nohup_holds(self, hanging):
        running = hanging("nohup", stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        running.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(1)
        running.send_signal(signal.SIGTERM)
        assert running.wait(5) == -signal.SIGTERM


def processes(tree):
    """Of a check of `tree`: each argument of the command line stands in its children's too."""
    return [one.pid for one in psutil.process_iter(["cmdline"]) if str(tree) in (one.info["cmdline"] or ())]


def wait_until(holds, seconds=5):
    ends = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > ends:
            return False
        time.sleep(0.01)
    return True


SIGNALS = {signal.SIGTERM: -15, signal.SIGHUP: -1, signal.SIGINT: 130, signal.SIGKILL: -9, signal.SIGPIPE: None, signal.SIGQUIT: -3}


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_at_any_moment_leaves_nothing_and_no_traceback(tmp_path, number):
    """But for one that comes before our first line (line 0 of the script, or Python's own start), when it is Python that ends."""
    moments = random.Random(number)
    for _ in range(int(os.environ.get("ROUNDS", "8"))):
        with subprocess.Popen([*LIVE, "-o", str(tmp_path / "report")], stderr=subprocess.PIPE, start_new_session=True) as running:
            time.sleep(moments.uniform(0.05, 0.5))
            running.send_signal(number)
            code, told = running.wait(10), running.stderr.read()
        assert code in (SIGNALS[number], 1, -signal.SIGINT), (code, told)
        assert b"Traceback" not in told or any(place in told for place in (b"site.py", b"frozen", b", line 0, in <module>")), told
        assert set(os.listdir(tmp_path)) <= {"report"}
        assert wait_until(lambda pid=running.pid: not session(pid))


def session(number):
    """Processes of a session that still run."""
    found = []
    for one in psutil.process_iter():
        try:
            if os.getsid(one.pid) == number and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one.pid)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def test_a_terminal_that_goes_away_ends_it_without_a_word():
    master, terminal = pty.openpty()
    with subprocess.Popen(CHECK, stdout=terminal, stderr=subprocess.PIPE) as running:
        os.close(terminal)
        os.close(master)
        assert running.wait(30) in (2, -signal.SIGHUP)
        assert b"Traceback" not in running.stderr.read()


def test_a_pipe_that_nobody_reads_ends_it_by_sigpipe_after_its_clean_up():
    listening, telling = os.pipe()
    fcntl.fcntl(telling, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    with subprocess.Popen([*CHECK, "--format", "json"], stdout=telling, stderr=subprocess.PIPE) as running:
        os.close(telling)
        os.close(listening)
        assert (running.wait(30), running.stderr.read()) == (-signal.SIGPIPE, b"")
