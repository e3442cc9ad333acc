"""Hosts as TAO's set-up wants them: with the CUDA toolkit beside driver and Container Toolkit."""

import json
from pathlib import Path

from tests.trees import kubelets, packages
from tests.trees.gpus import HGX, uuid
from tests.trees.hosts import hgx_h100
from tests.trees.others import t4_workstation_docker
from tests.trees.tree import Tree

_VERSION = "13.0.2"
_FOLDER = "/usr/local/cuda-13.0"


def cuda_toolkit(tree: Tree) -> None:
    """As NVIDIA's packages put it: the links are update-alternatives'."""
    tree.write(f"{_FOLDER}/version.json", json.dumps({"cuda": {"name": "CUDA SDK", "version": _VERSION}}))
    tree.write(f"{_FOLDER}/bin/nvcc", "made up\n", mode=0o755)
    for name in ("cuda", "cuda-13"):
        tree.link(f"/usr/local/{name}", f"/etc/alternatives/{name}")
        tree.link(f"/etc/alternatives/{name}", _FOLDER)
    packages.dpkg(tree, {"cuda-toolkit-13-0": f"{_VERSION}-1", "cuda-nvcc-13-0": "13.0.88-1"})


def tao_docker(root: Path) -> Tree:
    """One T4, Docker and the CUDA toolkit: all that TAO's Docker backend wants."""
    tree = t4_workstation_docker(root)
    cuda_toolkit(tree)
    return tree


def tao_kubernetes(root: Path) -> Tree:
    """An HGX host, a worker of Kubernetes whose kubelet gives away all GPUs, with the CUDA toolkit."""
    tree = hgx_h100(root)
    kubelets.give_devices(tree, {"nvidia.com/gpu": [uuid(minor) for minor in range(len(HGX))]})
    cuda_toolkit(tree)
    return tree


RECIPES = {"tao-docker": tao_docker, "tao-kubernetes": tao_kubernetes}
