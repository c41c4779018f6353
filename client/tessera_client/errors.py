"""Errors: refusals of the service, and missing answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import unescape
from typing import Any, TypeVar

import httpx2
from pydantic import ValidationError

from tessera_client.calls.call import Call, Incomplete
from tessera_client.models import Problem

Answer = TypeVar("Answer")
SHOWN = 200  # characters of an answer that is not Tessera's
LOOKED_AT = 20_000  # characters of its page, in which these are looked for
TAGS = re.compile(
    r"<!--.*?(?:-->|$)|<(script|style)\b.*?(?:</\1\s*>|$)|<[a-z/!?][^>]*>?",
    re.DOTALL | re.IGNORECASE,
)


class TesseraError(Exception):
    """The service refused a request, or did not answer.

    Of the kind "unreachable" is a request that did not reach the service, and of the kind
    "no-answer" one that it may have carried out; "foreign-answer" came from something else, such as
    a proxy, with its status where that is one of errors. Else `kind` is the end of the problem's
    URN, such as not-found.
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
    except httpx2.RequestError as failed:
        reached = not isinstance(failed, httpx2.ConnectError | httpx2.ConnectTimeout)
        detail = str(failed) or type(failed).__name__
        raise _miss(path, detail, reached=reached) from failed


def read_answer(call: Call[Answer], response: httpx2.Response) -> Answer:
    """Read the answer to a call.

    TesseraError for a refusal, for what is not an answer of Tessera, and for an incomplete one.
    """
    _check(call, response)
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


def _check(call: Call[Any], response: httpx2.Response) -> None:
    """Raise TesseraError for a failure, a redirect, or another media type."""
    status = response.status_code
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if status == 204 or (status < 300 and kind == call.accept):
        return
    if status >= 400:
        with suppress(ValidationError):  # which a proxy's answer gives, or another service's
            raise TesseraError(Problem.model_validate_json(response.content))
    if response.is_redirect:
        place = response.headers["location"]
        detail = f"{status} leads to {place}: give the client the final address"
    else:
        shown = cut_text(response.text) or "it is empty"
        detail = f"{status} with {kind or 'no media type'} instead of {call.accept}: {shown}"
    problem = Problem(
        type="urn:tessera:problem:foreign-answer",
        title="The answer is not one of Tessera",
        status=status if status >= 400 else 502,
        detail=detail,
        instance=call.path,
    )
    raise TesseraError(problem)


def cut_text(page: str) -> str:
    """Return the first words of a page, without tags.

    >>> cut_text("<title>404</title><style>p {}</style><p>not &amp; here</p>")
    '404 not & here'
    """
    return " ".join(unescape(TAGS.sub(" ", page[:LOOKED_AT])).split())[:SHOWN]
