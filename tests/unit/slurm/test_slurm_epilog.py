"""Epilog: a job failed for the host's fault where the kernel log or the daemon's record say so of its GPUs in its time, else never."""

import json
import time
from dataclasses import replace

import click
import pytest

from hostagent.daemon import record
from hostagent.daemon.record import Fault
from tests.unit.slurm.nodestate import BOOT_ID, HEALTHY, daemon_says, files, markers, slurm

#: GPUs of the recorded host, by minor number.
PCI = ("0000:1b:00.0", "0000:4c:00.0", "0000:9d:00.0")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def host(tmp_path):
    """A recorded host whose kernel log gets lines: so many seconds after now, the text. Gives the recording's path."""
    tape = json.loads((HEALTHY / "tape.json").read_text())
    booted_at = float(tape["answers"]["read /proc/stat"]["text"].split()[1])

    def host(*lines):
        log = tape["answers"]["kernel_log"]["json"]
        log["lines"] += [[time.time() + after - booted_at, line] for after, line in lines]
        path = tmp_path / "host.json"
        path.write_text(json.dumps(tape))
        return path

    return host


def xid(code=79, pci=PCI[0], text="GPU has fallen off the bus."):
    return f"NVRM: Xid (PCI:{pci[:-2]}): {code}, pid='<unknown>', name=<unknown>, {text}"


def begun(folder, ago_s=60.0, job="17"):
    """As the prolog notes it."""
    (folder / "slurm").mkdir(parents=True, exist_ok=True)
    path = folder / f"slurm/n1.job-{job}"
    path.write_text(f"{time.time() - ago_s:.3f}\n")
    path.chmod(0o600)
    return folder


def epilog(folder, place, *arguments, gpus="0", **environment):
    named = {"SLURM_JOB_ID": "17", **({"SLURM_JOB_GPUS": gpus} if gpus is not None else {}), **environment}
    return slurm("epilog", folder, "--from", place, *arguments, **named)


def test_a_critical_xid_of_the_jobs_gpu_in_its_time_fails_with_verdict_marker_and_line(folder, host):
    place = host((-30, xid()))
    code, line, _ = epilog(begun(folder), place, "--refusal-code", "100")
    said = "GpuXid: GPU 0 (0000:1b:00.0) logged Xid 79: the GPU fell off the bus. Drain the node."
    assert (code, line) == (100, f"hostagent: epilog: job 17: the host failed it: {said}\n")
    (marker,) = markers(folder)
    assert (marker["program"], marker["reason"]) == ("epilog", f"hostagent: {said}")
    found = json.loads((folder / "slurm/verdict.json").read_text())
    assert (found["verdict"], found["slurm"]["author"]) == ({"single_node": "not_ready", "multi_node": "not_ready"}, "epilog")
    assert found["valid_until"] > time.time() >= found["observed_at"]


def test_the_next_job_is_refused_by_what_the_epilog_left(folder, host):
    place = host((-30, xid()))
    assert epilog(begun(folder), place)[0] == 1
    code, line, _ = slurm("prolog", folder, "--from", place, SLURM_JOB_ID="18")
    assert (code, "GpuXid: GPU 0 (0000:1b:00.0) logged Xid 79" in line) == (1, True)


@pytest.mark.parametrize(
    ("after_s", "line", "gpus"),
    [
        (-62.0, xid(), "0"),  # before the job
        (-30.0, xid(pci=PCI[1]), "0"),  # of another GPU
        *((-30.0, xid(code, text="as from an illegal address"), "0") for code in (31, 13, 43, 45)),  # of the program
        (-30.0, xid(63, text="Row remapper: New row marked for remapping"), "0"),  # degraded
        (-30.0, "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20009, Non-fatal, Link 28 RX Short Error Rate", "0"),
    ],
)
def test_what_was_before_or_elsewhere_or_of_the_program_or_degrades_only_fails_no_job(folder, host, after_s, line, gpus):
    assert epilog(begun(folder), host((after_s, line)), gpus=gpus) == (0, "", "")
    assert files(folder) == set()


@pytest.mark.parametrize("gpus", [None, "", "42", "0,42", "gpu0"])
def test_gpus_that_cannot_be_mapped_are_all_gpus(folder, host, gpus):
    assert epilog(begun(folder), host((-30, xid(pci=PCI[2]))), gpus=gpus)[0] == 1


def test_a_fault_that_a_reset_has_ended_since_failed_the_job_all_the_same(folder, host):
    ended = xid(154, text="GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")
    assert epilog(begun(folder), host((-30, xid(95, text="Uncontained")), (-20, ended)))[0] == 1


def test_the_drift_of_the_kernels_clock_is_allowed_for(folder, host):
    assert epilog(begun(folder), host((-60.8, xid())))[0] == 1


def test_the_begin_is_the_one_that_was_noted_else_that_of_slurm_else_nothing_is_said(folder, host):
    place = host((-30, xid()))
    assert epilog(begun(folder, ago_s=10), place, SLURM_JOB_START_TIME=f"{time.time() - 60:.0f}")[0] == 0
    assert epilog(folder, place, SLURM_JOB_START_TIME=f"{time.time() - 60:.0f}")[0] == 1
    for named in ({}, {"SLURM_JOB_START_TIME": "Unknown"}, {"SLURM_JOB_START_TIME": "nan"}, {"SLURM_JOB_ID": "x"}):
        code, line, _ = epilog(folder, place, **named)
        assert (code, "the begin of the job is not known" in line, line.count("\n")) == (0, True, 1)


def test_the_note_of_the_begin_goes_with_the_job(folder, host):
    begun(folder, job="18")
    epilog(begun(folder), host())
    assert files(folder) == {"n1.job-18"}


def kept(folder, pci=PCI[0], ago_s=30.0, check="gpu.reset_required"):
    fault = Fault(check, pci, pci, "", f"GPU {pci} needs a reset", time.time() - ago_s, 0, BOOT_ID)
    (folder / "record.json").write_text(record.dump(replace(record.EMPTY, faults=(fault,))))
    return folder


@pytest.mark.parametrize(("pci", "ago_s", "code"), [(PCI[0], 30.0, 1), (PCI[1], 30.0, 0), (PCI[0], 61.0, 0)])
def test_the_daemons_record_counts_for_the_jobs_gpus_in_its_time(folder, host, pci, ago_s, code):
    daemon_says(folder, "ready")
    assert epilog(kept(begun(folder), pci, ago_s), host())[0] == code


def test_a_damaged_record_says_nothing(folder, host):
    begun(folder)
    (folder / "record.json").write_text("{")
    assert epilog(folder, host())[0] == 0


def test_next_to_a_daemon_none_of_its_files_is_written(folder, host):
    daemon_says(folder, "ready")
    kept(begun(folder))
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert epilog(folder, host())[0] == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_a_kernel_log_that_cannot_be_read_fails_no_job(folder, host):
    place = host()
    tape = json.loads(place.read_text())
    tape["answers"]["kernel_log"] = {"unread": "denied", "detail": "/dev/kmsg"}
    place.write_text(json.dumps(tape))
    code, line, _ = epilog(begun(folder), place)
    assert (code, "the kernel log is not known" in line) == (0, True)


@pytest.mark.parametrize("text", ["{", "gpus: {count: many}\n"])
def test_what_does_not_load_fails_no_job_and_says_so(folder, host, tmp_path, text):
    (tmp_path / "broken.yaml").write_text(text)
    for arguments in (("--profile", tmp_path / "broken.yaml"), ("--from", tmp_path / "broken.yaml")):
        code, line, _ = epilog(begun(folder), host((-30, xid())), *arguments)
        assert (code, line.count("\n"), "hostagent itself failed" in line) == (0, 1, True)


def test_what_the_profile_ignores_fails_no_job(folder, host, tmp_path):
    (tmp_path / "site.yaml").write_text("checks: {gpu.xid: {params: {ignore: [79]}}}\n")
    assert epilog(begun(folder), host((-30, xid())), "--profile", tmp_path / "site.yaml")[0] == 0


def test_a_begin_in_the_future_is_none_and_is_said(folder, host):
    code, line, _ = epilog(begun(folder, ago_s=-3600), host((-30, xid())))
    assert (code, "the begin of the job is not known" in line) == (0, True)


def test_where_nothing_can_be_written_the_exit_code_says_it_still(tmp_path, host):
    (tmp_path / "state").write_text("a file")
    code, line, _ = epilog(tmp_path / "state", host((-30, xid())), SLURM_JOB_START_TIME=f"{time.time() - 60:.0f}")
    assert (code, "cannot write below" in line, "no proof" in line) == (1, True, True)


def test_a_dry_run_fails_no_job_and_writes_nothing(folder, host):
    code, _, printed = epilog(begun(folder), host((-30, xid())), "--dry-run")
    assert (code, printed) == (0, "would say that the host failed the job on n1\n")
    assert files(folder) == {"n1.job-17"}


def test_an_unknown_option_is_a_mistake_of_usage():
    with pytest.raises(click.UsageError):
        slurm("epilog", "/nonexistent", "--nonsense")
