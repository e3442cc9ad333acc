"""A file system that takes every question and answers none (FUSE, whose server this is): who asks hangs in the kernel, past SIGKILL."""

import contextlib
import ctypes
import os
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

_INIT = 26
_IN = struct.Struct("<IIQQIIII")  # fuse_in_header: length, opcode, unique, node, uid, gid, pid, padding
_OUT = struct.Struct("<IiQ")  # fuse_out_header: length, error, unique
_INIT_OUT = struct.Struct("<IIIIHHIIHHI28x")  # fuse_init_out of protocol 7.31


@contextlib.contextmanager
def hanging(place: Path) -> Iterator[None]:
    """Mounted at the directory `place`; whoever hangs there is let go on leaving."""
    libc = ctypes.CDLL(None, use_errno=True)
    server = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={server},rootmode=40000,user_id=0,group_id=0".encode()
    try:
        if libc.mount(b"hanging", os.fsencode(place), b"fuse.hanging", 0, options):
            raise OSError(ctypes.get_errno(), "mount")
        threading.Thread(target=_serve, args=(server,), daemon=True).start()
        yield
    finally:
        libc.umount2(os.fsencode(place), 1 | 2)  # MNT_FORCE: what waits is answered with an error
        os.close(server)


def _serve(server: int) -> None:
    with contextlib.suppress(OSError):
        while True:
            request = os.read(server, 1 << 20)
            _, opcode, unique, *_ = _IN.unpack_from(request)
            if opcode == _INIT:
                body = _INIT_OUT.pack(7, 31, 1 << 16, 0, 12, 9, 1 << 16, 1, 16, 0, 0)
                os.write(server, _OUT.pack(_OUT.size + len(body), 0, unique) + body)
