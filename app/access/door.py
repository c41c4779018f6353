"""Access: roles of routes, and callers by their keys."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Annotated, Any

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request, Security
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.security import SecurityScopes

from app.access.credentials import KeyDep, SessionDep
from app.access.keyring import Keyring, check_lock
from app.access.keys import ApiKey, Caller
from app.access.quotas import Quotas
from app.access.sessions import Sessions
from app.access.user_checks import check_users
from app.access.users import User, identify_proxied
from app.engine.engine import Engine
from app.http.addresses import path_in
from app.http.errors import Forbidden, Unauthorized, Unavailable
from app.http.lanes import network
from app.http.openapi import list_body_fields
from app.roles import Role
from app.settings import Settings
from app.telemetry.requests import note

if TYPE_CHECKING:
    from app.access.tokens import TokenVerifier

ANYONE = Caller(name="anyone", role=Role.ADMIN)  # where no key is needed
PUBLIC_CALLER = Caller(
    name="public", role=Role.READ, collections=("",)
)  # at routes that are public
READING = 4  # sessions that are read from the database, or tokens checked, at the same time
WITHOUT_USERS = {"oidc_issuer": None, "user_header": None}
EMPTY_BODIES = (b"", b"{}", b"null")  # that say nothing, as some clients send them
LONGEST_EMPTY = 16  # bytes of these, with spaces
UNBOUND = "unbound"  # next to a role in OpenAPI: the key must not be bound to collections


class Door:
    """Admission of callers by their keys, within their quotas."""

    def __init__(self, settings: Settings, keyring: Keyring) -> None:
        self.settings, self.keyring = settings, keyring
        self.quotas = Quotas()
        self.tokens = _open_tokens(settings)
        self._reading, self._refreshing = CapacityLimiter(READING), CapacityLimiter(1)

    @classmethod
    def of(cls, settings: Settings) -> Door:
        """Make the door of the settings.

        ValueError where others could reach a service without keys that was not said to be open,
        and for settings that contradict each other.
        """
        keyring = Keyring.of(settings)
        check_users(settings)
        check_lock(settings, keyring)
        return cls(settings, keyring)

    @classmethod
    def without_keys(cls, settings: Settings) -> Door:
        """Make a door for callers in this process.

        They can read the data folder anyway.
        """
        return cls(settings.model_copy(update=WITHOUT_USERS), Keyring(None))

    @property
    def locked(self) -> bool:
        """Return whether callers need a key or a sign-in."""
        return self.settings.has_users or self.keyring.required

    async def caller(
        self, request: Request, key: str | None, session: str | None, needed: Role = Role.READ
    ) -> Caller:
        """Return a request's sender; Unauthorized for a missing or unknown key.

        A proxy's user comes before a session, which may be of who used the browser before.
        """
        if not self.locked or (self.settings.open_metrics and _reads_metrics(request)):
            return ANYONE
        if key is not None:
            return self.keyring.find(key) or await self._identify_token(key)
        if (user := identify_proxied(self.settings, request)) is not None:
            return user
        if session is not None:
            return await self._identify_session(get_engine(request), session)
        token = "" if self.tokens is None else ", or a token of its issuer,"
        raise Unauthorized(
            f"this needs a key{token} with the role {needed}: send Authorization: Bearer "
            f"KEY{token and ' or TOKEN'}, or X-API-Key: KEY"
        )

    def check_standing(self, caller: Caller) -> None:
        """Raise Unauthorized once the key of a running request is taken back.

        Users of tokens and of proxies were let in until the request's end.
        """
        if isinstance(caller, ApiKey):
            now = self.keyring.find_mark(caller.mark)
            stands = now is not None and _describe_rights(now) == _describe_rights(caller)
        else:
            stands = caller is not ANYONE or not self.locked
        if not stands:
            raise Unauthorized(
                f"{caller.title} was taken back or has other rights now; send the rest again"
                if isinstance(caller, ApiKey)
                else "this needs a key by now; send the rest with one"
            )

    async def _identify_token(self, text: str) -> User:
        """Return the user of a token; Unauthorized for other texts."""
        if self.tokens is None or text.count(".") != 2:
            shape = "" if self.tokens is None else ", nor is it a token (a signed JWT)"
            raise Unauthorized(
                f"this key is not known here{shape}; tessera keys list shows which there are"
            )
        kid = self.tokens.read_key_id(text)
        keys = self.tokens.keys
        # Others, whose key is known, do not wait for the issuer.
        if keys.is_due(kid) or keys.must_wait(kid):
            await to_thread.run_sync(keys.refresh, kid, limiter=self._refreshing)
        return await to_thread.run_sync(self.tokens.identify, text, kid, limiter=self._reading)

    async def _identify_session(self, engine: Engine, text: str) -> Caller:
        sessions = Sessions.of(engine.catalog, self.keyring)
        # In a thread, because the database is asked, which may be away.
        key = await to_thread.run_sync(sessions.read, text, limiter=self._reading)
        if key is None:
            raise Unauthorized("this session is over, or its key was taken back; sign in again")
        return key


def require_role(role: Role | str, *, unbound: bool = False) -> Any:
    """Return a dependency for callers of a role.

    With `unbound`, it refuses a key that is bound to collections.

    `read`: search, explain and look at what is stored. `write`: change items as well. `admin`:
    change collections as a whole, snapshots and audits as well.
    """
    return Security(admit, scopes=[Role(role).value, *([UNBOUND] if unbound else [])])


async def admit(
    request: Request, security_scopes: SecurityScopes, key: KeyDep, session: SessionDep
) -> AsyncGenerator[Caller, None]:
    """The caller of a request, while it runs; Unauthorized, Forbidden or TooManyRequests."""
    door: Door = request.app.state.door
    needed = next(Role(scope) for scope in security_scopes.scopes if scope != UNBOUND)
    request.state.needed = needed  # for the audit
    caller = await door.caller(request, key, session, needed)
    request.state.caller = caller
    name = name_payer(request)
    rate = caller.rate_limit or door.settings.rate_limit
    at_once = caller.concurrency_limit or door.settings.concurrency_limit
    if caller is not ANYONE:
        note(**_describe(caller))
    with door.quotas.request(name, rate, at_once):  # what is refused counts as well
        if caller is not ANYONE:
            _check(caller, needed, unbound=UNBOUND in security_scopes.scopes)
        if request.query_params:
            _check_parameters(request)
        await _check_body(request)
        yield caller


def name_payer(request: Request) -> str:
    """Name the key or network address to count a request for."""
    caller: Caller = request.state.caller  # set by the role that the route declares
    if caller is not ANYONE and caller is not PUBLIC_CALLER:
        return caller.title
    return network(request.client.host) if request.client else "this client"


async def public(request: Request) -> None:
    """Mark a request of a public route, without any collection."""
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


async def open_engine(request: Request) -> Engine:
    """Return the engine, limited to the caller's collections; Unavailable without a model."""
    engine, caller = get_engine(request), request.state.caller
    return engine if caller.collections is None else engine.limit_to(caller.collections)


EngineDep = Annotated[Engine, Depends(open_engine)]


def _open_tokens(settings: Settings) -> TokenVerifier | None:
    """Make the verifier of tokens; None without an issuer."""
    if settings.oidc_issuer is None:
        return None
    from app.access.tokens import TokenVerifier  # here, as it costs 0.1 s

    return TokenVerifier.of(settings, settings.oidc_issuer)


def _describe(caller: Caller) -> dict[str, str]:
    """Describe a caller for the log and the audit."""
    if isinstance(caller, User):
        return {"user": caller.name, "signed_in_by": caller.signed_in_by}
    return {"key": caller.name}


def _describe_rights(key: Caller) -> tuple[str, Role, tuple[str, ...] | None]:
    return key.name, key.role, key.collections


def _check(caller: Caller, needed: Role, *, unbound: bool) -> None:
    if not caller.role.includes(needed):
        raise Forbidden(
            f"{caller.title} has the role {caller.role}, and this needs the role {needed}"
        )
    if unbound and caller.collections is not None:
        raise Forbidden(
            f"{caller.title} is bound to {', '.join(caller.collections)}, and this needs "
            f"a key with the role {needed} that is bound to no collection"
        )


def _check_parameters(request: Request) -> None:
    """Raise ValueError for a parameter unknown to the route, or given twice.

    A typo must not fall back to the default.
    """
    fields = get_flat_params(request.scope["route"].dependant)
    takes = {field.alias for field in fields if isinstance(field.field_info, Query)}
    for name in request.query_params:
        if name not in takes:
            listed = ", ".join(sorted(takes)) or "none"
            if name in list_body_fields(request.scope["route"]):
                listed += "; send it as a field of the body"
            raise ValueError(f"{name!r:.50} is no parameter of this address; it takes {listed}")
        if len(request.query_params.getlist(name)) > 1:
            raise ValueError(f"{name!r:.50} is given more than once; give it once")


async def _check_body(request: Request) -> None:
    """Raise ValueError for a body that the route would pass over."""
    route, headers, body = request.scope["route"], request.headers, b""
    if route.body_field or "requestBody" in (route.openapi_extra or {}):
        return
    if "transfer-encoding" in headers or headers.get("content-length", "0") != "0":
        async for chunk in request.stream():
            body += chunk
            if len(body) > LONGEST_EMPTY:
                break
    if body.strip() not in EMPTY_BODIES:
        raise ValueError(
            f"{request.method} {request.url.path} takes no body, so what this one says would be "
            "passed over; /docs lists what each address takes"
        )


def _reads_metrics(request: Request) -> bool:
    return path_in(request.scope) == "/metrics"
