"""Sessions of the page: the key in, the caller's rights out."""

from __future__ import annotations

from pydantic import BaseModel, Field

from app.roles import Role
from app.schemas.fields import NAMES, RequestBody


class SessionIn(RequestBody):
    """The key of a new session."""

    most_text = NAMES

    key: str = Field(max_length=1000)


class SessionOut(BaseModel):
    """The rights of the caller."""

    key_needed: bool = Field(description="Whether this service needs a key.")
    name: str | None = Field(
        description="The name of the caller's key, or of the user; null without one."
    )
    role: Role | None = Field(description="What the caller may do; null where a key is missing.")
    collections: list[str] | None = Field(
        description="The collections that the key is bound to; null if it is bound to none."
    )
    originals: bool = Field(
        default=False, description="Whether files of photos may be read by /items/{id}/original."
    )
