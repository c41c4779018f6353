"""Errors: refusals of the service, and missing answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx2
from pydantic import ValidationError

from tessera_client.calls.call import Call, Incomplete
from tessera_client.models import Problem

Answer = TypeVar("Answer")
SHOWN = 200  # characters of an answer that is not Tessera's


class TesseraError(Exception):
    """The service refused a request, or did not answer.

    Of the kind "unreachable" is a request that did not reach the service, and of the kind
    "no-answer" one that it may have carried out; "foreign-answer" came from something else, such as
    a proxy. Else `kind` is the end of the problem's URN, such as not-found.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.title}: {problem.detail}")
        self.problem = problem
        self.status, self.detail = problem.status, problem.detail
        self.kind = problem.type.rpartition(":")[2]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the problem."""
        return type(self), (self.problem,), self.__dict__


@contextmanager
def report_failures(path: str) -> Iterator[None]:
    """Raise TesseraError if no answer comes.

    Its cause is httpx's error.

    The status is 503 where the service was not reached, and 504 where it may have done its work.
    """
    try:
        yield
    except httpx2.TransportError as failed:
        reached = not isinstance(failed, httpx2.ConnectError | httpx2.ConnectTimeout)
        detail = str(failed) or type(failed).__name__
        raise _miss(path, detail, reached=reached) from failed


def read_answer(call: Call[Answer], response: httpx2.Response) -> Answer:
    """Read the answer to a call.

    TesseraError for a refusal, for what is not an answer of Tessera, and for an incomplete one.
    """
    _check_origin(call, check(response))
    try:
        return call.read(response)
    except (ValidationError, Incomplete) as broken:
        detail = str(broken) if isinstance(broken, Incomplete) else "it is not whole, or no JSON"
        raise _miss(call.path, detail) from broken


def _miss(path: str, detail: str, *, reached: bool = True) -> TesseraError:
    problem = Problem(
        type=f"urn:tessera:problem:{'no-answer' if reached else 'unreachable'}",
        title="No answer came from the service",
        status=504 if reached else 503,
        detail=detail,
        instance=path,
    )
    return TesseraError(problem)


def _check_origin(call: Call[Any], response: httpx2.Response) -> None:
    """Raise TesseraError for a redirect, or an answer of another media type."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.status_code == 204 or (response.status_code < 300 and kind == call.accept):
        return
    if response.is_redirect:
        place = response.headers["location"]
        detail = f"{response.status_code} leads to {place}: give the client the final address"
    else:
        detail = (
            f"{response.status_code} with {kind or 'no media type'} instead of {call.accept}: "
            f"{response.text[:SHOWN] or 'it is empty'}"
        )
    problem = Problem(
        type="urn:tessera:problem:foreign-answer",
        title="The answer is not one of Tessera",
        status=502,
        detail=detail,
        instance=call.path,
    )
    raise TesseraError(problem)


def check(response: httpx2.Response) -> httpx2.Response:
    """Return a fully read response; TesseraError for a failure."""
    if response.status_code < 400:
        return response
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError:  # a proxy answered, or another service
        problem = Problem(
            type="about:blank",
            title=response.reason_phrase,
            status=response.status_code,
            detail=response.text[:500],
            instance=response.url.path,
        )
    raise TesseraError(problem)
