"""Options of the daemon's command line, checked."""

from typing import Literal

from hostagent.core.frozen import frozen
from hostagent.engine.target import Evidence

#: Default directories of its files and of its record. The second is not that of installations, which only root may read.
RUN, KEPT = "/run/hostagent", "/var/lib/hostagent-daemon"
Wish = Literal["auto", "on", "off"]


@frozen
class Settings:
    """Paths are absolute; "" is off. Seconds where no other unit is named."""

    evidence: Evidence
    profile_name: str
    node_name: str
    state_dir: str
    interval_s: float = 60
    heartbeat_s: float = 300
    listen: str = "127.0.0.1:9476"
    kubernetes: Wish = "auto"
    kubeconfig: str = ""
    prefix: str = "hostagent.dev"
    label_valid_until: bool = False
    nfd_file: str = ""
    textfile: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    auth_token_file: str = ""
    history_dir: str = ""
    log_format: str = "text"
    kubernetes_events: bool = False
    once: bool = False
    dry_run: bool = False

    @property
    def record_dir(self) -> str:
        """Where the record is kept."""
        return self.history_dir or self.state_dir

    @property
    def stale_after_s(self) -> float:
        """Seconds after the last judged pass from which on the host is unknown."""
        return 2 * self.interval_s + self.evidence.deadline_s
