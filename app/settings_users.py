"""Settings of users with a sign-in elsewhere."""

from __future__ import annotations

import os
from typing import Any

from pydantic import Field, model_validator

from app.roles import Role
from app.settings_names import RenamedSettings

LOCAL = "127.0.0.1,::1"  # trusted by default, as by uvicorn
HEADER = r"^[A-Za-z0-9-]{1,100}$"
ROLES = {f"tessera-{role}": role for role in Role}


class UserSettings(RenamedSettings):
    """Settings of users, known by tokens or by a proxy's headers."""

    trusted_proxies: str = Field(
        default=LOCAL,
        description="Addresses and networks of proxies whose `X-Forwarded-For`, "
        "`X-Forwarded-Proto` and user headers count: `10.0.0.5,10.1.0.0/16`. Without it "
        "`FORWARDED_ALLOW_IPS` counts, as uvicorn reads it.",
    )
    user_header: str | None = Field(
        default=None,
        pattern=HEADER,
        description="Header in which a trusted proxy names who has signed in, such as "
        "`X-Forwarded-User` (operations.md#users).",
    )
    groups_header: str | None = Field(
        default=None,
        pattern=HEADER,
        description="Header with the user's groups, divided by commas, such as "
        "`X-Forwarded-Groups`.",
    )
    collections_header: str | None = Field(
        default=None,
        pattern=HEADER,
        description="Header with the only collections of the user, divided by commas; all "
        "collections if not set.",
    )
    oidc_issuer: str | None = Field(
        default=None,
        description="Issuer of tokens that are taken like keys, by OpenID Connect: its https:// "
        "address as in `iss` (operations.md#users).",
    )
    oidc_audience: str | None = Field(
        default=None, description="What `aud` of these tokens names: this service."
    )
    oidc_user_claim: str = Field(
        default="sub", min_length=1, description="Claim that names the user in logs and the audit."
    )
    oidc_groups_claim: str = Field(
        default="groups",
        min_length=1,
        description="Claim of the user's groups or roles; `a.b` is inside of `a`.",
    )
    oidc_collections_claim: str | None = Field(
        default=None,
        min_length=1,
        description="Claim of the only collections of the user; all collections if not set.",
    )
    user_roles: dict[str, Role] = Field(
        default=ROLES,
        examples=[{"*": "read"}],
        description="Roles of groups, as JSON; the highest counts, and `*` is everyone who has "
        "signed in.",
    )

    @model_validator(mode="before")
    @classmethod
    def take_uvicorns_proxies(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Add uvicorn's own variable, unless the setting is there."""
        named = os.environ.get("FORWARDED_ALLOW_IPS")  # an empty one names no host
        return ({} if named is None else {"trusted_proxies": named}) | values

    @property
    def has_users(self) -> bool:
        """Whether users may sign in elsewhere."""
        return self.oidc_issuer is not None or self.user_header is not None
