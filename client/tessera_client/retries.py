"""Retries of requests, and the pauses between them."""

from __future__ import annotations

import socket
import ssl
from typing import Any

import httpx2
from tenacity import RetryCallState, retry_if_exception, retry_if_result, stop_after_attempt

ATTEMPTS = 8
LONGEST_WAIT = 30.0  # seconds


def _is_refused(response: httpx2.Response) -> bool:
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
    "retry": retry_if_result(_is_refused) | retry_if_exception(_may_pass),
    "wait": _pause,
    "stop": stop_after_attempt(ATTEMPTS),
    # At last the answer is given as it is, or the failure raised.
    "retry_error_callback": lambda state: state.outcome.result(),
}
