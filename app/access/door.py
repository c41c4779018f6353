"""Access: roles of routes, and callers by their keys."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Any

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request, Security
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.security import (
    APIKeyCookie,
    APIKeyHeader,
    HTTPAuthorizationCredentials,
    HTTPBearer,
    SecurityScopes,
)
from starlette.requests import HTTPConnection

from app.access.keyring import Keyring, check_lock
from app.access.keys import Caller
from app.access.quotas import Quotas
from app.access.sessions import COOKIE, Sessions, find_cookie
from app.engine.engine import Engine
from app.http.errors import Forbidden, Unauthorized, Unavailable
from app.http.places import network
from app.roles import Role
from app.settings import Settings
from app.telemetry.logs import note

ANYONE = Caller(name="anyone", role=Role.ADMIN)  # where no key is needed
PUBLIC_CALLER = Caller(
    name="public", role=Role.READ, collections=("",)
)  # at routes that are public
READING = 4  # sessions that are read from the database at the same time
UNBOUND = "unbound"  # next to a role in OpenAPI: the key must not be bound to collections

BEARER = HTTPBearer(auto_error=False, scheme_name="bearer", description="Authorization: Bearer KEY")
HEADER = APIKeyHeader(name="X-API-Key", auto_error=False, scheme_name="header")


class SessionCookie(APIKeyCookie):
    """The cookie of a session; its name has a prefix over HTTPS."""

    async def __call__(self, request: HTTPConnection) -> str | None:
        """Return the session in a request's cookie, if any."""
        return find_cookie(request)


SESSION = SessionCookie(
    name=COOKIE,
    auto_error=False,
    scheme_name="session",
    description=f"Set by POST /session; over HTTPS its name is __Host-{COOKIE}.",
)


class Door:
    """Admission of callers by their keys, within their quotas."""

    def __init__(self, settings: Settings, keyring: Keyring) -> None:
        self.settings, self.keyring = settings, keyring
        self.quotas = Quotas()
        self._reading = CapacityLimiter(READING)

    @classmethod
    def of(cls, settings: Settings) -> Door:
        """Make the door that settings describe.

        ValueError where others could reach a service without keys that was not said to be open.
        """
        keyring = Keyring.of(settings)
        check_lock(settings, keyring)
        return cls(settings, keyring)

    @classmethod
    def without_keys(cls, settings: Settings) -> Door:
        """Make a door for callers in this process.

        They can read the data folder anyway.
        """
        return cls(settings, Keyring(None))

    async def caller(
        self, request: Request, key: str | None, session: str | None, needed: Role = Role.READ
    ) -> Caller:
        """Return the sender of a request; Unauthorized for a missing or unknown key."""
        if not self.keyring.required or (self.settings.open_metrics and _reads_metrics(request)):
            return ANYONE
        if key is not None:
            match = self.keyring.find(key)
        elif session is not None:
            return await self._identify_session(get_engine(request), session)
        else:
            raise Unauthorized(
                f"this needs a key with the role {needed}: send Authorization: Bearer KEY, or "
                "X-API-Key: KEY"
            )
        if match is None:
            raise Unauthorized(
                "this key is not known here; tessera keys list shows which there are"
            )
        return match

    async def _identify_session(self, engine: Engine, text: str) -> Caller:
        sessions = Sessions.of(engine.catalog)
        # In a thread, because the database is asked, which may be away.
        session = await to_thread.run_sync(sessions.read, text, limiter=self._reading)
        match = None if session is None else self.keyring.find_mark(session.name, session.mark)
        if match is None:
            raise Unauthorized("this session is over, or its key was taken back; sign in again")
        return match


def require_role(role: Role | str, *, unbound: bool = False) -> Any:
    """Return a dependency that admits callers of a role.

    With `unbound`, it refuses a key that is bound to collections.

    `read`: search, explain and look at what is stored. `write`: change items as well. `admin`:
    change collections as a whole, snapshots and audits as well.
    """
    return Security(admit, scopes=[Role(role).value, *([UNBOUND] if unbound else [])])


async def find_key(
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)],
    header: Annotated[str | None, Depends(HEADER)],
) -> str | None:
    """Return the key in a request's headers, if any."""
    return bearer.credentials if bearer else header


KeyDep = Annotated[str | None, Depends(find_key)]
SessionDep = Annotated[str | None, Depends(SESSION)]


async def admit(
    request: Request, security_scopes: SecurityScopes, key: KeyDep, session: SessionDep
) -> AsyncGenerator[Caller, None]:
    """The caller of a request, while it runs; Unauthorized, Forbidden or TooManyRequests."""
    door: Door = request.app.state.door
    needed = next(Role(scope) for scope in security_scopes.scopes if scope != UNBOUND)
    caller = await door.caller(request, key, session, needed)
    _check(caller, needed, unbound=UNBOUND in security_scopes.scopes)
    _check_parameters(request)
    request.state.caller = caller
    if caller is not ANYONE:
        note(key=caller.name)
    name = name_payer(request)
    rate = caller.rate_limit or door.settings.rate_limit
    at_once = caller.concurrency_limit or door.settings.concurrency_limit
    with door.quotas.request(name, rate, at_once):
        yield caller


def name_payer(request: Request) -> str:
    """Name the key or the network address that a request counts for."""
    caller: Caller = request.state.caller  # set by the role that the route declares
    if caller is not ANYONE and caller is not PUBLIC_CALLER:
        return f"the key {caller.name!r}"
    return network(request.client.host) if request.client else "this client"


async def public(request: Request) -> None:
    """Mark a request of a public route; no collection is open to it."""
    request.state.caller = PUBLIC_CALLER


PUBLIC = Depends(public)


def get_engine(request: Request) -> Engine:
    """Return the engine, without the caller's limits; Unavailable until it is loaded."""
    loaded: Engine | None = request.app.state.engine
    if loaded is None:
        failure = request.app.state.failure
        raise Unavailable(
            f"the model cannot be loaded: {failure}"
            if failure
            else "the model is being loaded; try again in a moment"
        )
    return loaded


def _check(caller: Caller, needed: Role, *, unbound: bool) -> None:
    if not caller.role.includes(needed):
        raise Forbidden(
            f"the key {caller.name!r} has the role {caller.role}, and this needs the role {needed}"
        )
    if unbound and caller.collections is not None:
        raise Forbidden(
            f"the key {caller.name!r} is bound to {', '.join(caller.collections)}, and this needs "
            f"a key with the role {needed} that is bound to no collection"
        )


def _check_parameters(request: Request) -> None:
    """Raise ValueError for a parameter that the route does not take.

    A typo must not fall back to the default.
    """
    if not request.query_params:
        return
    fields = get_flat_params(request.scope["route"].dependant)
    takes = {field.alias for field in fields if isinstance(field.field_info, Query)}
    for name in request.query_params:
        if name not in takes:
            listed = ", ".join(sorted(takes)) or "none"
            raise ValueError(f"{name!r:.50} is no parameter of this address; it takes {listed}")


def _reads_metrics(request: Request) -> bool:
    return bool(request.url.path.removeprefix(request.scope.get("root_path", "")) == "/metrics")
