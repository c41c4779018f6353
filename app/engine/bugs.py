"""Bugs: exceptions by no one's mistake but the service's own."""

from __future__ import annotations

import dis

from models.rooms import PREFIX

ROOMS = frozenset({"app", "index", "models"})
PASSED_ON = frozenset({"asyncio", "concurrent", "multiprocessing"})  # raise what others raised
BUILT_IN = (ValueError, LookupError)  # a caller's mistake if our code says so


def is_bug(error: BaseException) -> bool:
    """Return whether an error is a bug, no mistake of the caller.

    `int("x")`, `[].index(1)` and libraries raise ValueErrors too. An error from another process has
    no place any more and is taken for the caller's.
    """
    if isinstance(error, KeyError | IndexError):
        return True
    if not isinstance(error, BUILT_IN) or _room(type(error).__module__) in ROOMS:
        return False
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None:
        return False
    room = _room(place.tb_frame.f_globals.get("__name__", ""))
    operation = dis.opname[place.tb_frame.f_code.co_code[place.tb_lasti]]
    return room not in PASSED_ON and not (room in ROOMS and operation == "RAISE_VARARGS")


def _room(module: str) -> str:
    return module.removeprefix(PREFIX).partition(".")[0]
