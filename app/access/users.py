"""Users with a sign-in elsewhere: roles and collections by their groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationError
from starlette.requests import Request

from app.access.keys import Caller, describe_mistake
from app.http.errors import Forbidden, Unauthorized
from app.roles import Role
from app.settings import Settings

EVERYONE = "*"


class User(Caller):
    """A caller let in by an issuer or a proxy."""

    name: Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$")]
    signed_in_by: Literal["token", "proxy"]

    @property
    def title(self) -> str:
        """The user as messages name it."""
        return f"the user {self.name!r}"


def make_user(
    settings: Settings,
    signed_in_by: Literal["token", "proxy"],
    name: str,
    groups: Sequence[str],
    collections: Sequence[str] | None,
) -> User:
    """Make a user; Unauthorized for an odd name, Forbidden without a role."""
    roles = settings.user_roles
    granted = [roles[group] for group in (EVERYONE, *groups) if group in roles]
    try:
        user = User(name=name, role=Role.READ, signed_in_by=signed_in_by)
    except ValidationError as odd:
        raise Unauthorized(
            f"the user has no name that can be used: {describe_mistake(odd)}"
        ) from odd
    if not granted:
        raise Forbidden(
            f"{user.title} has no role here: TESSERA_USER_ROLES names none of the user's "
            f"{len(groups)} groups, read from {_name_source(settings, signed_in_by, 'groups')}"
        )
    if collections is not None and not collections:
        source = _name_source(settings, signed_in_by, "collections")
        raise Forbidden(f"{user.title} has no collections here: {source} names none")
    bound = None if collections is None else tuple(collections)
    return user.model_copy(update={"role": max(granted, key=[*Role].index), "collections": bound})


def _name_source(
    settings: Settings,
    signed_in_by: Literal["token", "proxy"],
    content: Literal["groups", "collections"],
) -> str:
    """Name the claim or header of a user's groups or collections."""
    if signed_in_by == "token":
        return f"the claim {getattr(settings, f'oidc_{content}_claim')!r}"
    header = getattr(settings, f"{content}_header")
    return (
        f"the header {header}"
        if header
        else f"no header, as TESSERA_{content.upper()}_HEADER is not set"
    )


def identify_proxied(settings: Settings, request: Request) -> User | None:
    """Return the user named by a trusted proxy; None without the header.

    Raises Unauthorized for the header of anyone else.
    """
    if settings.user_header is None or settings.user_header not in request.headers:
        return None
    header = settings.user_header
    if not getattr(request.state, "proxied", False):
        raise Unauthorized(
            f"{header} counts from a proxy that TESSERA_TRUSTED_PROXIES names, and this came from "
            f"{getattr(request.state, 'peer', 'elsewhere')}"
        )
    name = _read_header(request, header)
    groups = _list_values(request, settings.groups_header) or []
    collections = _list_values(request, settings.collections_header)
    return make_user(settings, "proxy", name, groups, collections)


def _list_values(request: Request, header: str | None) -> list[str] | None:
    """List the values in a header; None if the settings name none."""
    if header is None:
        return None
    values = _read_header(request, header).split(",")
    return [value.strip() for value in values if value.strip()]


def _read_header(request: Request, header: str) -> str:
    """Read a header as UTF-8; Unauthorized if it comes twice."""
    values = request.headers.getlist(header)
    if len(values) > 1:
        raise Unauthorized(f"{header} is there {len(values)} times; the proxy has to replace it")
    try:
        return "".join(values).encode("latin-1").decode().strip()
    except UnicodeDecodeError:
        raise Unauthorized(f"{header} is not in UTF-8") from None
