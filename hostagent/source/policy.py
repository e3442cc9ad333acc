"""What only the profile knows and reading needs: it may be read while the host is."""

from typing import NamedTuple


class Policy(NamedTuple):
    """The profile's word on questions that not every host may be asked."""

    nvml_optional: bool = False
    #: HOST:PORT of the kubelet, the file of its certificate authority, the file of a token; "" asks nobody.
    configz: tuple[str, str, str] = ("", "", "")


#: Nobody said anything.
NO_POLICY = Policy()
