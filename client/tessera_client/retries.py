"""Retries of requests: their number, pauses, and time in all."""

from __future__ import annotations

import math
import socket
import ssl
from time import monotonic as read_clock
from typing import Any

import httpx2
from tenacity import RetryCallState, retry_if_exception, retry_if_result

ATTEMPTS = 8
LONGEST_WAIT = 30.0  # seconds
TIMEOUT = 120.0  # seconds, of a call with all retries
CONNECTING = 10.0  # seconds, of one attempt to connect
REFUSED = 60.0  # seconds, in which a refused connection is tried again
LAST = 0.1  # of a shorter time-out, left for the answer to the last attempt


def check_timeout(seconds: float) -> float:
    """Return a number of seconds; ValueError unless positive and finite."""
    if not (isinstance(seconds, int | float) and 0 < seconds < math.inf):
        raise ValueError(f"timeout is a positive number of seconds, such as 120, got {seconds!r}")
    return seconds


class Patience:
    """The time of a call with its retries, in seconds."""

    def __init__(self, timeout: float) -> None:
        self._timeout, self._start = timeout, read_clock()
        self._refused = min(REFUSED, timeout * (1 - LAST))

    def left(self) -> httpx2.Timeout:
        """Return the time-outs of the next attempt."""
        seconds = max(self._timeout - self._spent(), 0.001)
        return httpx2.Timeout(seconds, connect=min(seconds, CONNECTING))

    def retries(self) -> dict[str, Any]:
        """Return the options of tenacity's Retrying."""
        return RETRIES | {"wait": self._pause, "stop": self._is_over}

    def _spent(self) -> float:
        return read_clock() - self._start

    def _pause(self, state: RetryCallState) -> float:
        """Return the pause; the last after a refused connection is cut."""
        seconds: float = RETRIES["wait"](state)
        left = max(self._refused - self._spent(), 0)
        return min(seconds, left) if _is_refused(state) else seconds

    def _is_over(self, state: RetryCallState) -> bool:
        """Return whether no attempt is left, or no time."""
        if state.attempt_number >= ATTEMPTS:
            return True
        if _is_refused(state):
            return self._spent() >= self._refused
        return self._spent() + state.upcoming_sleep >= self._timeout


def _is_refused(state: RetryCallState) -> bool:
    """True for an attempt without a connection."""
    return state.outcome is not None and state.outcome.failed


def _is_busy(response: httpx2.Response) -> bool:
    """Return whether a busy service did nothing.

    Such a request may be repeated.
    """
    return response.status_code in (429, 503) and "retry-after" in response.headers


def _may_pass(failure: BaseException) -> bool:
    """Return whether a connection may succeed later.

    An unknown host and a failure of TLS stay as they are.
    """
    if not isinstance(failure, httpx2.ConnectError):
        return False
    cause: BaseException | None = failure
    while cause is not None:
        if isinstance(cause, socket.gaierror | ssl.SSLError):
            return False
        cause = cause.__cause__ or cause.__context__
    return True


def _pause(state: RetryCallState) -> float:
    """Return the seconds to wait: Retry-After, or longer each time."""
    outcome = state.outcome
    retry_after = None
    if outcome is not None and not outcome.failed:
        retry_after = outcome.result().headers.get("retry-after")
    seconds = (
        float(retry_after)
        if retry_after and retry_after.isdigit()
        else 0.25 * 2**state.attempt_number
    )
    return min(seconds, LONGEST_WAIT)


RETRIES: dict[str, Any] = {
    "retry": retry_if_result(_is_busy) | retry_if_exception(_may_pass),
    "wait": _pause,
    # At last the answer is given as it is, or the failure raised.
    "retry_error_callback": lambda state: state.outcome.result(),
}
