"""Sessions of the page: cookies, hidden from scripts, instead of keys."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.access.credentials import KeyDep, SessionDep, name_cookie
from app.access.door import ANYONE, PUBLIC, Door, get_engine
from app.access.keys import Caller
from app.access.sessions import LONGEST, Sessions
from app.http.errors import Forbidden, Unauthorized, Unavailable
from app.http.openapi import OF_BODY, BodyRoute, problems
from app.routes.dependencies import LanesDep
from app.routes.uploads import JsonBody
from app.schemas.session import SessionIn, SessionOut
from index.database.errors import Busy
from index.items import NoSpace

router = APIRouter(route_class=BodyRoute, tags=["session"], dependencies=[PUBLIC])
NOT_READY = problems(Unavailable, Busy)
ENDING = (Unavailable, Busy, NoSpace)


async def door(request: Request) -> Door:
    """Return the door of the service."""
    entrance: Door = request.app.state.door
    return entrance


DoorDep = Annotated[Door, Depends(door)]


@router.get("/session", responses=NOT_READY)
async def session(
    request: Request, entrance: DoorDep, key: KeyDep, cookie: SessionDep
) -> SessionOut:
    """The caller's role, and whether the service needs a key."""
    try:
        return _session(await entrance.caller(request, key, cookie), entrance)
    except (Unauthorized, Forbidden):
        return SessionOut(key_needed=True, name=None, role=None, collections=None)


@router.post(
    "/session",
    responses=problems(Unauthorized, ValueError, *ENDING, *OF_BODY),
)
async def sign_in(
    body: JsonBody[SessionIn],
    request: Request,
    response: Response,
    entrance: DoorDep,
    lanes: LanesDep,
    cookie: SessionDep,
) -> SessionOut:
    """Begin a session of a browser; it ends when its key is removed."""
    key = entrance.keyring.find(body.key.strip())
    if key is None:
        token = "" if entrance.tokens is None else "; a token opens the API, not the page"
        raise Unauthorized(f"this key is not known here; check that all of it was copied{token}")
    sessions = Sessions.of(get_engine(request).catalog, entrance.keyring)
    if cookie is not None:  # a new sign-in ends the old session
        await lanes.writes.run(sessions.end, cookie)
    secure = _is_secure(request)
    response.set_cookie(
        name_cookie(request, secure=secure),
        sessions.begin(key),
        max_age=LONGEST,
        path=_path(request),
        secure=secure,
        httponly=True,
        samesite="strict",
    )
    return _session(key, entrance)


@router.delete("/session", status_code=204, responses=problems(*ENDING))
async def sign_out(
    request: Request, response: Response, entrance: DoorDep, lanes: LanesDep, cookie: SessionDep
) -> None:
    """End the session of a browser, and all copies of its cookie."""
    if cookie is not None:
        sessions = Sessions.of(get_engine(request).catalog, entrance.keyring)
        await lanes.writes.run(sessions.end, cookie)
    for secure in (True, False):
        response.delete_cookie(
            name_cookie(request, secure=secure),
            path=_path(request),
            secure=secure,
            httponly=True,
            samesite="strict",
        )


def _is_secure(request: Request) -> bool:
    """Return whether the browser uses HTTPS, by its Origin behind a proxy.

    `SameOriginMiddleware` has checked the origin.
    """
    origin = request.headers.get("origin", "")
    return request.url.scheme == "https" or origin.startswith("https://")


def _path(request: Request) -> str:
    """Return the service's root path, as a proxy may set it."""
    return request.scope.get("root_path") or "/"


def _session(caller: Caller, entrance: Door) -> SessionOut:
    bound = caller.collections
    return SessionOut(
        key_needed=caller is not ANYONE,
        name=None if caller is ANYONE else caller.name,
        role=caller.role,
        collections=None if bound is None else list(bound),
        originals=bool(entrance.settings.originals),
    )
