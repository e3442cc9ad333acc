"""Options of the commands that talk to a cluster."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from hostagent.kube.labelsyntax import KEY, VALUE, is_domain

if TYPE_CHECKING:
    from hostagent.kube.config import Access

#: Label selectors. Source: Kubernetes, "Labels and Selectors"; apimachinery ``labels.Parse``.
_VALUES = rf"\(\s*{VALUE}(\s*,\s*{VALUE})*\s*\)"
_TERM = rf"\s*(!\s*{KEY}|{KEY}(\s*(=|==|!=)\s*{VALUE}|\s+(in|notin)\s*{_VALUES}|\s*[<>]\s*[0-9]+)?)\s*"
_SELECTOR = re.compile(rf"{_TERM}(,{_TERM})*")
_LONGEST = 4096


def checked_prefix(_: object, __: object, value: str) -> str:
    """Raises ``click.UsageError`` for what is no DNS subdomain, or is Kubernetes' own."""
    if not is_domain(value) or value.endswith(("kubernetes.io", "k8s.io")):
        raise click.UsageError(f"found --prefix {value!r:.80}, wanted a domain of your own, such as hostagent.dev")
    return value


def _selector(_: click.Context, __: click.Parameter, value: str) -> str:
    if value and (len(value) > _LONGEST or not _SELECTOR.fullmatch(value)):
        raise click.UsageError(f"found --node-selector {value!r:.80}, wanted a label selector, such as pool=gpu,!spot or 'pool in (a,b)'")
    return value


KUBECONFIG = click.option(
    "--kubeconfig",
    default="",
    type=click.Path(),
    help="Default: $KUBECONFIG, else the pod's account, else ~/.kube/config.",
    metavar="FILE",
)
CONTEXT = click.option("--context", default="", help="Context of the kubeconfig. Default: its current one.", metavar="NAME")
PREFIX = click.option(
    "--prefix",
    default="hostagent.dev",
    show_default=True,
    callback=checked_prefix,
    help="Prefix of labels, annotations and conditions; the agents' own.",
    metavar="DOMAIN",
)
NODE_SELECTOR = click.option(
    "--node-selector",
    default="",
    callback=_selector,
    help="Label selector of the nodes. Default: nvidia.com/gpu.present=true, or PREFIX/ready.",
    metavar="S",
)


def access(kubeconfig: str, context: str) -> "Callable[[], Access]":
    """Of the cluster. Raises ``HostagentError`` for a mistake in the files, before the server is asked anything."""
    from hostagent.kube.access import access_to

    found = access_to(kubeconfig, context)
    found()
    return found
