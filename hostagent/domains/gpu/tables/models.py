"""Models of NVIDIA's data centre and workstation GPUs, as written in labels: GresTypes of Slurm, names of queues.

Sources: NVIDIA's data sheets; names in NVML (nvidia-smi -L). State of 2026-11.
"""

import re

#: In lower case, each a part of the GPU's name in NVML.
MODELS = frozenset(
    (
        "k40", "k80", "m40", "m60", "p4", "p6", "p40", "p100", "v100", "v100s", "t4", "t4g",
        "a2", "a10", "a10g", "a16", "a30", "a40", "a100", "a100x", "a800", "l4", "l20", "l40", "l40s",
        "h20", "h100", "h200", "h800", "gh200", "b100", "b200", "b300", "gb10", "gb200", "gb300", "rtx",
        "a2000", "a4000", "a4500", "a5000", "a5500", "a6000",
    )
)  # fmt: skip
#: Of two models with the same stem, the one with an additional letter. Not a100x: virtual A100s have that name, too.
_SIBLINGS = frozenset(model for model in MODELS if model[:-1] in MODELS and model[-1].isalpha()) - {"a100x"}
_WORD = re.compile(r"[a-z0-9]+")


def models_in(label: str) -> tuple[str, ...]:
    """The models that a label names.

    >>> models_in("nvidia_h100_80gb_hbm3"), models_in("Tesla-T4"), models_in("fast"), models_in("tesla_v100-sxm2-16gb")
    (('h100',), ('t4',), (), ('v100',))
    """
    return tuple(word for word in _WORD.findall(label.lower()) if word in MODELS)


def may_be(label: str, name: str) -> bool:
    """Whether a GPU of this name may have that label: one without a model, or with the GPU's own (h200 for a GH200; for virtual GPUs with
    additional letters: GRID V100DX-32Q), but not a sibling with a letter more or less (l40 for an L40S).

    >>> may_be("h100", "NVIDIA H100 80GB HBM3"), may_be("a10", "NVIDIA A100-SXM4-40GB"), may_be("gold", "Tesla T4")
    (True, False, True)
    >>> may_be("h100", "GRID H100XM-80C"), may_be("a100", "NVIDIA A100X-40C"), may_be("l4", "NVIDIA L40S"), may_be("l40", "NVIDIA L40S")
    (True, True, False, False)
    """
    known = models_in(label)
    words = _WORD.findall(name.lower())
    return not known or any(_names(model, word) for model in known for word in words)


def _names(model: str, word: str) -> bool:
    if word in _SIBLINGS and word != model and word[:-1] == model:
        return False
    return re.fullmatch(f"g?{model}[a-z]{{0,2}}", word) is not None
