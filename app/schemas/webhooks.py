"""Webhooks of collections: requests and answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from app.schemas.fields import LONGEST_URL, NAMES, RequestBody

ImportEvent = Literal["import.finished", "import.failed"]
ALL_EVENTS: tuple[ImportEvent, ...] = ("import.finished", "import.failed")
LONGEST_SECRET = 100  # characters


class WebhookIn(RequestBody):
    """An address for news of a collection's imports."""

    most_text = NAMES

    url: Annotated[
        str,
        Field(
            min_length=1,
            max_length=LONGEST_URL,
            description="https:// on the public internet, unless TESSERA_WEBHOOKS allows others.",
        ),
    ]
    events: Annotated[list[ImportEvent], Field(min_length=1, max_length=2)] = Field(
        list(ALL_EVENTS), description="What it is told of."
    )
    secret: Annotated[str, Field(max_length=LONGEST_SECRET)] | None = Field(
        None, description="`whsec_` and 24 to 64 bytes in base64; one is made if there is none."
    )


class DeliveryOut(BaseModel):
    """The last attempt to deliver something."""

    id: str = Field(description="The header webhook-id.")
    event: str
    time: str = Field(description="When, in UTC: 2026-05-01T12:00:00+00:00.")
    status: Literal["delivered", "failed", "given_up"] = Field(
        description="`failed` is tried again, up to 10 times in three days."
    )
    attempts: int
    detail: str = Field(description="What the receiver answered, or why it was not reached.")


class WebhookOut(BaseModel):
    """A webhook, without its secret."""

    id: str
    url: str
    events: list[str]
    created: str = Field(description="When, in UTC.")
    enabled: bool = Field(description="False once the receiver has answered 410.")
    waiting: int = Field(description="Deliveries that are due, or will be.")
    lost: int = Field(description="Deliveries that were given up.")
    last: DeliveryOut | None


class WebhooksOut(BaseModel):
    """The webhooks of a collection, oldest first."""

    webhooks: list[WebhookOut]


class NewWebhookOut(WebhookOut):
    """A new webhook with its secret, shown this once."""

    secret: str
