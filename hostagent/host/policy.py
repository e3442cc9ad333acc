"""What only the profile knows and reading needs: it may be read while the host is."""

from typing import Any, NamedTuple, TypeGuard

from hostagent.core.unread import Unread


class Policy(NamedTuple):
    """The profile's word on questions that not every host may be asked."""

    nvml_optional: bool = False
    #: HOST:PORT of the kubelet, the file of its certificate authority, the file of a token; "" asks nobody.
    configz: tuple[str, str, str] = ("", "", "")
    verbs_optional: bool = False
    pci_optional: bool = False


#: Nobody said anything.
NO_POLICY = Policy()


def is_unavailable(answer: Any) -> TypeGuard[Unread]:
    """For want of a library, a device or a right: what a process of few rights lacks. What hangs or fails is a gap all the same."""
    return isinstance(answer, Unread) and answer.why in ("absent", "denied")


def not_asked(what: str, answer: Unread) -> Unread:
    """In the place of `answer`, where the profile lets it be."""
    return Unread("not-supported", f"{what} optional in this profile: {answer.detail}", answer.question)
