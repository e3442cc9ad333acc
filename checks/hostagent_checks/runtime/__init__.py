"""Container runtimes (containerd, Docker, CRI-O, k3s, RKE2, microk8s) as they read their own configuration: is an nvidia
handler really effective, in the right table, restarted since, with the right cgroup driver.
"""

from hostagent.check import Family

FAMILY = Family(title="Container runtimes", order=80, condition="ToolkitReady", part="runtime")
