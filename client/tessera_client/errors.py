"""Errors: what the service refused, in its own words."""

from __future__ import annotations

import httpx2
from pydantic import ValidationError

from tessera_client.models import Problem


class TesseraError(Exception):
    """The service refused a request. `kind` is the end of the problem's URN, such as not-found."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.title}: {problem.detail}")
        self.problem = problem
        self.status, self.detail = problem.status, problem.detail
        self.kind = problem.type.rpartition(":")[2]


def check(response: httpx2.Response) -> httpx2.Response:
    """The response, once its body was read; TesseraError if it says that the request failed."""
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
