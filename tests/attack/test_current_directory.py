"""The directory in which somebody works: its modules are not imported, and one that was deleted is a sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
#: What is imported after the entry, and by no line of a .pth file of this environment.
TAKEN = ("click", "yaml", "requests", "hostagent_checks", "tomllib", "sqlite3")
NAMED = (":x", "x:", ".", "below:x", "../here")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "here"
    for place in (folder, folder / "below"):
        place.mkdir()
        for name in TAKEN:
            (place / f"{name}.py").write_text(f"import os\nos.write(1, b'{name} of somebody else\\n')\nos._exit(0)\n")
    return folder


@pytest.mark.parametrize("named", NAMED)
@pytest.mark.parametrize("entry", [[HOSTAGENT], [sys.executable, "-m", "hostagent"]], ids=["hostagent", "-m hostagent"])
def test_no_relative_entry_of_pythonpath_is_a_place_of_modules(entry, named, here):
    path = os.pathsep.join(filter(None, (named, os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run(
        [*entry, "check", "--help"], cwd=here, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "of somebody else" not in done.stdout


def test_an_image_is_read_where_pythonpath_names_the_directory_of_hostagent_itself(tmp_path):
    """A clone is such a directory: it is taken off the path, and the process that reads the image loads hostagent from there."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=debian\nVERSION_ID=12\n")
    argv, environment = [HOSTAGENT, "check", "--root", str(tmp_path), "--only", "os"], {**os.environ, "PYTHONPATH": ":"}
    done = subprocess.run(argv, cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.partition(" ")[0]) == (0, "READY"), done.stdout + done.stderr


COMMANDS = (
    ("check", "-o", "rel"),
    ("check", "--also", "json=rel"),
    ("check", "--root", "rel"),
    ("check", "--profile", "rel"),
    ("check", "--from", "rel"),
    ("plan", "-o", "rel"),
    ("plan", "--root", "rel"),
    ("topology", "-o", "rel"),
    ("topology", "--pod", "rel"),
    ("snapshot", "save", "rel"),
    ("snapshot", "show", "rel"),
    ("install", "--root", "rel", "--dry-run"),
    ("rollback", "--root", "rel"),
    ("daemon", "--once", "--state-dir", "rel"),
    ("nccl", "explain", "rel"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_relative_path_in_a_directory_that_was_deleted_is_a_sentence(words, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f'cd "{gone}" && rmdir "{gone}" && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-m", "hostagent", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr
    assert done.stderr.strip()
