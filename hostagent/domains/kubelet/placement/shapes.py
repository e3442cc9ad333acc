"""The text of ``--pod``: ``gpus=6,cpus=40,memory=200Gi``."""

import re

from hostagent.domains.kubelet.placement.pods import Container, Pod
from hostagent.domains.kubelet.placement.quantity import amount

#: Names for resources that depend on the node: all its GPUs, its one NIC resource.
GPUS, NICS = "gpus", "nics"
_SHORT = {"cpus": "cpu", "memory": "memory", "hugepages-2Mi": "hugepages-2Mi", "hugepages-1Gi": "hugepages-1Gi", GPUS: GPUS, NICS: NICS}
_RESOURCE = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251})/[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,62})", re.ASCII)
_MOST = 64


def parse_shape(text: str) -> Pod:
    """One container with requests equal to its limits. Raises ``ValueError`` with a sentence.

    >>> parse_shape("gpus=1,cpus=8,memory=4Gi").containers[0].limits
    {'gpus': 1, 'cpu': 8000, 'memory': 4294967296}
    """
    wanted: dict[str, int] = {}
    words = [word.strip() for word in text.split(",", _MOST)]
    if len(words) > _MOST:
        raise ValueError(f"a pod's shape names at most {_MOST} resources")
    for word in words:
        name, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not value:
            raise ValueError(f"{word[:60]!r} is no name=quantity such as gpus=6")
        resource = _SHORT.get(name, name if _RESOURCE.fullmatch(name) else "")
        if not resource:
            raise ValueError(f"{name[:60]!r} is no resource: use {', '.join(_SHORT)} or a full name such as rdma/hca")
        if resource in wanted:
            raise ValueError(f"{name} is given twice")
        wanted[resource] = amount(resource, value)
        if resource not in ("cpu", "memory") and not resource.startswith("hugepages-") and "." in value:
            raise ValueError(f"{name}={value[:20]}: devices are counted in whole numbers")
    return Pod(text, (Container("main", "app", wanted, wanted),))
