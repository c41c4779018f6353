"""Errors: refusals of the service, and missing answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
from pydantic import ValidationError

from tessera_client.models import Problem


class TesseraError(Exception):
    """The service refused a request, or did not answer.

    Of the kind "unreachable" is a request that did not reach the service, and of the kind
    "no-answer" one that it may have carried out. Else `kind` is the end of the problem's URN,
    such as not-found.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.title}: {problem.detail}")
        self.problem = problem
        self.status, self.detail = problem.status, problem.detail
        self.kind = problem.type.rpartition(":")[2]


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
        raise TesseraError(
            Problem(
                type=f"urn:tessera:problem:{'no-answer' if reached else 'unreachable'}",
                title="No answer came from the service",
                status=504 if reached else 503,
                detail=str(failed) or type(failed).__name__,
                instance=path,
            )
        ) from failed


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
