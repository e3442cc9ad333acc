"""No headline says the opposite of its finding's text: over every check's cases and every recorded host."""

import pytest

from hostagent.testing import run_case
from tests.checkcases import CASES, CHECKS
from tests.contradictions import Printed, contradictions
from tests.over import over
from tests.recorded import NAMES, report_of

#: Pairs that were printed once, and what is wrong with each.
ONCE = (
    (
        Printed(
            "The running kernel has no nvidia module", "the nvidia module of kernel 6.6.72+ is loaded, not on disk", "loaded, not on disk"
        ),
        "there is no nvidia module",
    ),
    (Printed("No subnet manager has made port mlx5_1:1 active", "the port is ACTIVE and knows no subnet manager"), "denies 'active'"),
    (
        Printed("The toolkit's configuration cannot be read", "config.toml names the mode lagacy, which does not exist", "lagacy"),
        "cannot be read",
    ),
    (Printed("A CDI specification cannot be read", "/etc/cdi/nvidia.yaml: found no devices", "found no devices"), "cannot be read"),
    (Printed("The last CDI refresh left no specification", "nvidia-cdi-refresh has not run since the boot", "not run"), "a last run"),
    (Printed("DKMS lacks a build", "DKMS has built nvidia 580.1 for no kernel, but not for kernel 6.8"), "a hole"),
    (Printed("The module lacks options", "NVreg_CoherentGPUMemoryMode is , modprobe.d sets driver"), "a hole"),
    (Printed("A filesystem has no room", "/var has 2.3 GiB free", "2.3 GiB free", ">= 2.3 GiB"), "what is wanted"),
    (Printed("The module nvidia_uvm is loaded", "nvidia_uvm is not loaded", "not loaded", "loaded"), "affirms 'loaded'"),
    (Printed("This host has 1 of 2 GPUs", "PCI shows 3 GPUs, the profile asks for 2", "3", "2"), "1 of the headline"),
    (Printed("GPU 0 (0000:1b:00.0)", "it is broken", device="GPU 0 (0000:1b:00.0)"), "name of its subject"),
)
#: And pairs that look like it.
RIGHT = (
    Printed("GPU 0 is not bound to NVIDIA's driver", "nouveau is bound to the GPU", "nouveau", "nvidia"),
    Printed("mlx5_0 (the NIC of rail 0) did not come back from a reset", "The kernel waited for the device in vain", "pci-reset-failed"),
    Printed("The persistence daemon is enabled but does not run", "nvidia-persistenced is enabled, but has no socket", "none"),
    Printed("slurmd is not running: Slurm starts no job here", "slurmd's unit is enabled, and slurmd is not running", "stopped", "running"),
    Printed("The driver's GSP firmware is not on disk", "the disk has no GSP firmware of driver 580.1", "580.2", "580.1"),
    Printed(
        "The driver runs CUDA 13.0, the profile asks for >=13.1", "the driver runs CUDA 13.0, the profile asks for >=13.1", "13.0", ">=13.1"
    ),
)


@pytest.mark.parametrize(("printed", "words"), ONCE, ids=[one.message for one, _ in ONCE])
def test_a_pair_that_contradicts_itself_is_found(printed, words):
    assert any(words in one for one in contradictions(printed)), list(contradictions(printed))


@pytest.mark.parametrize("printed", RIGHT, ids=[one.message for one in RIGHT])
def test_a_pair_that_agrees_is_left(printed):
    assert list(contradictions(printed)) == []


@over("check_id", sorted(CHECKS))
def test_no_case_prints_a_contradiction(check_id):
    for case in (one for one in CASES if one.check_id == check_id):
        for one in run_case(case, CHECKS):
            if one.outcome in ("fail", "warn"):
                printed = Printed(one.headline, one.message, one.found, one.wanted, subject=one.subject)
                assert not list(contradictions(printed)), (case.path, printed)


@over("name", NAMES)
def test_no_recorded_host_prints_a_contradiction(name):
    for one in report_of(name).findings:
        if one.outcome in ("fail", "warn"):
            printed = Printed(one.headline, one.message, one.found, one.wanted, one.device, one.subject)
            assert not list(contradictions(printed)), printed
