"""Arguments of TAO's launch preflight about a target that it does not run on.

Source: check_tao_launch_preflight.py of NVIDIA-TAO/tao-skill-bank: ``--gpu-arch SM``, ``--target-gpu-count N`` and
``--target-gpu-memory-gb G``, which is in GiB, once per GPU or once for all. Read 2026-11. Its other options are about a job.
"""

import re

from hostagent.core.unread import Unread
from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts

_CAPABILITY = re.compile(r"([0-9]{1,2})\.([0-9])")
_MIB, _MIB_PER_GIB = 2**20, 1024


def preflight(facts: HostFacts) -> tuple[str, ...]:
    """Options with their values, without blanks so that ``$(…)`` works. Values that are not known of every GPU are left out."""
    gpus = facts.of(Gpu)
    served = () if isinstance(gpus, Unread) else tuple(one for one in gpus if one.in_nvml is True and one.lost is not True)
    if not served:
        return ()
    architectures, sizes = [_architecture(one) for one in served], [_size(one) for one in served]
    found = [f"--gpu-arch {name}" for name in dict.fromkeys(architectures)] if all(architectures) else []
    found.append(f"--target-gpu-count {len(served)}")
    if all(sizes):
        found += [f"--target-gpu-memory-gb {size}" for size in (sizes if len(set(sizes)) > 1 else sizes[:1])]
    return tuple(found)


def _architecture(gpu: Gpu) -> str:
    match = None if isinstance(gpu.compute_capability, Unread) else _CAPABILITY.fullmatch(gpu.compute_capability)
    return f"sm_{match[1]}{match[2]}" if match else ""


def _size(gpu: Gpu) -> str:
    """GiB with two decimals, never more than there is."""
    if isinstance(gpu.memory_bytes, Unread) or gpu.memory_bytes <= 0:
        return ""
    return f"{gpu.memory_bytes // _MIB * 100 // _MIB_PER_GIB / 100:.2f}"
