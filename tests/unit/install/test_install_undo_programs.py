"""Programs by which steps are taken back: newest first, each once, with the exit codes that are no failure."""

from hostagent.install.rollback import Program, _programs


def step(id_, *programs, kind="run", state="to-do"):
    return {"id": id_, "state": state, "undo": {"kind": kind, "do": [{"run": one} for one in programs]}}


def run(*argv, codes=(0,)):
    return {"argv": [*argv], "codes": [*codes]}


def test_what_a_step_says_of_exit_codes_counts_for_its_way_back():
    group = step("docker.group", run("gpasswd", "--delete", "a", "docker", codes=(0, 3)))
    restart = step("runtime.restart-docker", run("systemctl", "restart", "docker"))
    found = _programs(
        [{"steps": [group, restart]}, {"steps": [restart, step("x", run("true"), state="done"), step("y", run("no"), kind="none")]}]
    )
    assert found == (Program(("systemctl", "restart", "docker")), Program(("gpasswd", "--delete", "a", "docker"), (0, 3)))
