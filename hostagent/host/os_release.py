"""os-release(5) by the distro library, from bytes of bounded size, never from a path that it opens itself."""

# distro's pattern for a code name takes 54 s for a `VERSION="((((…` of 64 KiB: a limit on the file alone bounds nothing, so lines
# are cut at 2 KiB.

import os

from hostagent.core.answers import KIB
from hostagent.core.unread import Unread

#: A real file has less than one.
MAX_BYTES = 64 * KIB
#: distro takes quadratic time in the length of a line: a ``VERSION`` of 64 KiB that is all brackets costs it a minute, this one 0.2 s.
_MAX_LINE = 2 * KIB


def os_release(data: bytes) -> "dict[str, str] | Unread":
    """The values by lower-case name."""
    import distro

    if any(len(line) > _MAX_LINE for line in data.splitlines()):
        return Unread("error", f"os-release has a line of more than {_MAX_LINE} bytes")
    memory = os.memfd_create("os-release")
    try:
        os.write(memory, data)
        found = distro.LinuxDistribution(
            include_lsb=False, include_uname=False, os_release_file=f"/proc/self/fd/{memory}", distro_release_file="/nonexistent"
        )
        return dict(found.os_release_info()) or Unread("error", "os-release says nothing")
    except ValueError as error:
        return Unread("error", f"os-release: {str(error).lower()}")
    finally:
        os.close(memory)
