"""Validates the options of ``hostagent daemon`` at the start, so that no mistake shows hours later."""

import os
import re
from typing import Any

import click

from hostagent.core.errors import HostagentError
from hostagent.daemon.settings import KEPT, RUN, Settings
from hostagent.engine.target import Evidence
from hostagent.host.paths import Root

#: What Kubernetes, which knows no capitals, and Slurm, which does, may call a host.
_NODE = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_PATHS = ("tls_cert", "tls_key", "auth_token_file", "kubeconfig", "nfd_file", "textfile")


def settings_of(
    place: Evidence,
    profile_name: str,
    *,
    node_name: str,
    state_dir: str,
    history_dir: str,
    interval: float,
    heartbeat: float,
    **given: Any,
) -> Settings:
    """Raises ``click.UsageError``, and ``HostagentError`` where `place` is not there."""
    if (place.snapshot or _is_made(place.host_root)) and not state_dir and not given["dry_run"]:
        raise click.UsageError(
            "found no --state-dir, wanted one: this is no live host, and what is said of it must not look like this machine's"
        )
    if bool(given["tls_cert"]) != bool(given["tls_key"]):
        raise click.UsageError("found one of --tls-cert and --tls-key, wanted both or none")
    name = node_name or os.environ.get("NODE_NAME", "")
    if name and not _NODE.fullmatch(name):
        whose = "--node-name" if node_name else "NODE_NAME"
        raise click.UsageError(f"found {whose} {name!r:.80}, wanted the name of a node: letters, digits, '-', '.' and '_'")
    _refuse_unread(given["nfd_file"], given["textfile"])
    folder = os.path.abspath(state_dir or f"{place.host_root}{RUN}")
    kept = os.path.abspath(history_dir) if history_dir else folder if state_dir else f"{place.host_root}{KEPT}"
    absolute = {key: os.path.abspath(given[key]) if given[key] else "" for key in _PATHS}
    return Settings(
        place, profile_name, name, folder, interval_s=interval, heartbeat_s=heartbeat, history_dir=kept, **{**given, **absolute}
    )


def _refuse_unread(nfd_file: str, textfile: str) -> None:
    """Names that the reader of such a file passes over. Sources: node-feature-discovery, "Local feature source"; node exporter, README."""
    if os.path.basename(nfd_file).startswith("."):
        raise click.UsageError(f"found --nfd-file {nfd_file!r:.200}, wanted a name without a dot at its start: no other is read")
    if textfile and not textfile.endswith(".prom"):
        raise click.UsageError(f"found --textfile {textfile!r:.200}, wanted a name that ends with .prom: no other is read")


def _is_made(host_root: str) -> bool:
    if not host_root:
        return False
    root = Root(host_root)
    if not root.exists("/."):
        raise HostagentError(f"found no directory {host_root}", "Name the one at which the host's / is mounted with --host-root")
    return root.simulated
