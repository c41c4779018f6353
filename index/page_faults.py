"""A guard of mapped files: unreadable pages become zeros, without SIGBUS.

If a mapped file is cut short, or its disk fails, SIGBUS ends the process at its
next read there. With the guard, a page of zeros replaces the page, as Wayland's
compositors do for buffers of clients, and `count` rises: readers then read their data
again from elsewhere. So segments and SQLite's pages stay mapped in shared memory.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
from threading import Lock

ADDRESS_ERROR = 2  # BUS_ADRERR: an address of a mapping has no memory or file
READ_WRITE, FIXED = 0x1 | 0x2, 0x2 | 0x10 | 0x20  # private, at this address, of no file
SA_SIGINFO, SA_NODEFER = 0x4, 0x40000000

log = logging.getLogger(__name__)


class _Action(ctypes.Structure):
    """The C library's struct sigaction on 64-bit Linux."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class _Faults:
    """A counter of replaced pages; the handler only sets the byte."""

    def __init__(self) -> None:
        self.byte = ctypes.c_ubyte(0)
        self._count, self._lock = 0, Lock()
        self.handler: object = None  # kept alive as long as it may be called

    def count(self) -> int:
        """Return a number, higher after pages were replaced."""
        if self.byte.value:
            with self._lock:
                self.byte.value = 0
                self._count += 1
            log.error(
                "a mapped file cannot be read: it was cut short, or the disk fails; "
                "segments are checked, and `tessera check` reads everything"
            )
        return self._count


FAULTS = _Faults()


count = FAULTS.count


def install() -> bool:
    """Guard this process; False on systems other than 64-bit Linux."""
    if FAULTS.handler is not None:
        return True
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    FAULTS.handler = handler = _compile(ctypes.addressof(FAULTS.byte))
    action = _Action(handler=handler.address, flags=SA_SIGINFO | SA_NODEFER)
    if ctypes.CDLL(None).sigaction(signal.SIGBUS, ctypes.byref(action), None):
        FAULTS.handler = None
    return FAULTS.handler is not None


def _compile(byte: int):  # type: ignore[no-untyped-def] # numba has no types
    """Compile the handler: Python's own would run too late."""
    from numba import cfunc, types

    library = ctypes.CDLL(None)
    page, number = os.sysconf("SC_PAGESIZE"), int(signal.SIGBUS)
    map_page, fill, default, again = library.mmap, library.memset, library.signal, library["raise"]
    map_page.restype, default.restype, fill.restype = ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
    map_page.argtypes = [ctypes.c_int64, ctypes.c_int64, *[ctypes.c_int] * 3, ctypes.c_int64]
    fill.argtypes = [ctypes.c_int64, ctypes.c_int, ctypes.c_int64]
    default.argtypes = [ctypes.c_int, ctypes.c_int64]
    again.argtypes, again.restype = [ctypes.c_int], ctypes.c_int

    @cfunc(types.void(types.int32, types.CPointer(types.int64), types.int64))
    def handle(_number, info, _context):  # type: ignore[no-untyped-def]
        # siginfo_t: si_signo and si_errno, si_code and padding, then si_addr.
        start = info[2] - info[2] % page
        if (
            info[1] & 0xFFFFFFFF != ADDRESS_ERROR
            or map_page(start, page, READ_WRITE, FIXED, -1, 0) != start
        ):
            default(number, 0)
            again(number)
        else:
            fill(byte, 1, 1)

    return handle
