"""Events of searches, such as clicks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from app.schemas.emoji import name_emoji
from app.schemas.fields import TEXTS, Body, ItemId


class ClickIn(Body):
    """A click on an item for a text."""

    most_text = TEXTS
    query: Annotated[
        str,
        Field(min_length=1, max_length=1_000, description="The text as it was searched for."),
        AfterValidator(name_emoji),
    ]
    id: ItemId
    kind: Literal["click", "cart", "purchase"] = "click"
    weight: Annotated[
        float, Field(gt=0, le=1_000, description="What it counts; those of one item add up.")
    ] = 1.0
