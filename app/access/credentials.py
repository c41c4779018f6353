"""Credentials of a request: a key or a session's cookie."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from fastapi.security import APIKeyCookie, APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import HTTPConnection

COOKIE = "tessera_session"

BEARER = HTTPBearer(auto_error=False, scheme_name="bearer", description="Authorization: Bearer KEY")
HEADER = APIKeyHeader(name="X-API-Key", auto_error=False, scheme_name="header")


class SessionCookie(APIKeyCookie):
    """The cookie of a session; its name has a prefix over HTTPS."""

    async def __call__(self, request: HTTPConnection) -> str | None:
        """Return the session in a request's cookie, if any."""
        if "cookie" not in request.headers:
            return None
        cookies = _read_cookies(request)
        session = cookies.get(name_cookie(request, secure=True))
        if session is None and request.url.scheme != "https":
            session = cookies.get(COOKIE)
        return session


SESSION = SessionCookie(
    name=COOKIE,
    auto_error=False,
    scheme_name="session",
    description=f"Set by POST /session; over HTTPS its name is __Host-{COOKIE}.",
)


async def find_key(
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)],
    header: Annotated[str | None, Depends(HEADER)],
) -> str | None:
    """Return the key in a request's headers, if any."""
    return bearer.credentials if bearer else header


KeyDep = Annotated[str | None, Depends(find_key)]
SessionDep = Annotated[str | None, Depends(SESSION)]


def name_cookie(request: HTTPConnection, *, secure: bool) -> str:
    """Name a session's cookie.

    Over HTTPS its prefix makes browsers refuse a cookie of another host, or of a page without
    HTTPS, so that no one can sign a browser in to another session.
    """
    if not secure:
        return COOKIE
    return f"__Secure-{COOKIE}" if request.scope.get("root_path") else f"__Host-{COOKIE}"


def _read_cookies(request: HTTPConnection) -> dict[str, str]:
    """Return the cookies of a request, unchanged.

    Python's parser takes back quotes and escapes by the square of their number (CVE-2024-7592),
    and a browser may bring long cookies of other services of its host.
    """
    parts = ";".join(request.headers.getlist("cookie")).split(";")
    pairs = (part.partition("=") for part in parts)
    return {name.strip(): value.strip() for name, _, value in pairs}
