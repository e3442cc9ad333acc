"""A file system that somebody serves badly: whoever looks into it hangs. Of the kernel's FUSE, without a library."""

import os
import struct

from tests.attack.spaces import mount

_INIT = 26
_HEADER = struct.Struct("<IIQQIIII")  # fuse_in_header: len, opcode, unique, nodeid, uid, gid, pid, padding
_MINOR = 31


class Mounted:
    """Mounted at `place`, in a mount namespace of the caller's own; ended by `close`."""

    def __init__(self, place: str) -> None:
        self._device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        mount("fuse", place, "fuse", 0, f"fd={self._device},rootmode=40000,user_id=0,group_id=0,allow_other")

    def take_one(self) -> None:
        """Answer the greeting, then take a question and never answer it: SIGKILL does not end who asked."""
        unique = self._next(_INIT)
        body = struct.pack("<IIIIHHIIHHI7I", 7, _MINOR, 0, 0, 1, 1, 4096, 1, 1, 0, 0, *[0] * 7)
        os.write(self._device, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
        self._next(0)

    def _next(self, wanted: int) -> int:
        """The number of the next question, of the kind `wanted` or of any."""
        while True:
            _, kind, unique, *_ = _HEADER.unpack(os.read(self._device, 1 << 20)[: _HEADER.size])
            if wanted in (0, kind):
                return int(unique)

    def close(self) -> None:
        """Whoever hangs gets an error."""
        os.close(self._device)
