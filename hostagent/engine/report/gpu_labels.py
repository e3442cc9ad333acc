"""Names of a host's hardware as the labels of its node have them."""

import re

_NOT_IN_LABELS = re.compile(r"[^A-Za-z0-9\-_. ]")


def product_label(name: str) -> str:
    """A GPU's name as GPU feature discovery spells it in ``nvidia.com/gpu.product``.

    Source: NVIDIA/k8s-device-plugin, internal/lm/resource.go: what no label may have is dropped, and blanks are one dash.

    >>> product_label("NVIDIA H100 80GB HBM3"), product_label("Tesla  V100-SXM2-16GB"), product_label("NVIDIA A10 (24 GB)")
    ('NVIDIA-H100-80GB-HBM3', 'Tesla-V100-SXM2-16GB', 'NVIDIA-A10-24-GB')
    """
    return "-".join(_NOT_IN_LABELS.sub("", name).split())
