"""Settings of the profile that readers need; the profile may be loaded while the host is read."""

from typing import Any, NamedTuple, TypeGuard

from hostagent.core.unread import Unread


class Policy(NamedTuple):
    """Settings of the profile for questions that not every host supports. The defaults are those without a profile."""

    nvml_optional: bool = False
    #: HOST:PORT of the kubelet, the file of its certificate authority, the file of a token; "" for no question.
    configz: tuple[str, str, str] = ("", "", "")
    verbs_optional: bool = False
    pci_optional: bool = False


#: The default policy.
NO_POLICY = Policy()


def is_unavailable(answer: Any) -> TypeGuard[Unread]:
    """Whether a library, a device or a permission is missing, as for an unprivileged process; a timeout or an error is always a gap."""
    return isinstance(answer, Unread) and answer.why in ("absent", "denied")


def not_asked(what: str, answer: Unread) -> Unread:
    """Replaces `answer` where the profile makes it optional."""
    return Unread("not-supported", f"{what} optional in this profile: {answer.detail}", answer.question)
