"""A guard of mapped files: what cannot be read any more reads as zeros, instead of SIGBUS.

A file that is cut short while it is mapped, or a disk that fails, ends a process by SIGBUS at its
next look there. Where the guard is installed, the page is replaced by one of zeros, as Wayland's
compositors do for buffers of clients, and `count` rises: who has read anything meanwhile reads it
again from elsewhere. So segments and SQLite's pages stay mapped, in memory that processes share.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
from threading import Lock

ADDRESS_ERROR = 2  # BUS_ADRERR: nothing stands behind an address of a mapping
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
    """How often a page was replaced; the handler only sets the byte."""

    def __init__(self) -> None:
        self.byte = ctypes.c_ubyte(0)
        self._count, self._lock = 0, Lock()
        self.handler: object = None  # as long as it may be called

    def count(self) -> int:
        """A number that has risen if pages were replaced since the last look."""
        if self.byte.value:
            with self._lock:
                self.byte.value = 0
                self._count += 1
            log.error(
                "a file that is mapped cannot be read: it was cut short, or the disk fails; "
                "segments are checked, and `tessera check` reads everything"
            )
        return self._count


FAULTS = _Faults()


def count() -> int:
    """A number that has risen if pages were replaced since the last look."""
    return FAULTS.count()


def install() -> bool:
    """Guard this process; False where it cannot be: on other systems than 64-bit Linux."""
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
    """The handler as machine code: Python's own run later, and the thread would never go on."""
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
