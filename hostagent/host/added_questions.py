"""Questions that were added after the first release, by the number of the release of questions that has them.

A recording of before lacks them: a check that needs such an answer is then unknown as info.
"""

from collections.abc import Mapping

ADDED: Mapping[int, tuple[str, ...]] = {
    2: (
        r"read /(?:etc|run|usr|var)/.*nvidia-imex.*",  # config.cfg, and a list of nodes elsewhere
        r"tail /(?:run|var)/.*imex.*",
        r"list /var/lib/(?:k0s/)?kubelet/plugins/compute-domain\.nvidia\.com(?:/domains)?",
        r"stat /var/lib/(?:k0s/)?kubelet/plugins/compute-domain\.nvidia\.com/dra.*\.sock",
        r"read /usr/share/nvidia/nvswitch/fabricmanager\.cfg",
    )
}
