"""Container runtimes (containerd, Docker, CRI-O, k3s, RKE2, microk8s) by their own effective configuration: whether
containers get GPUs, whether the running daemon has read it, whether the cgroup driver is right.
"""

from hostagent.check import Family

FAMILY = Family(title="Container runtimes", order=80, condition="ToolkitReady", part="runtime")
