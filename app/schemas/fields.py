"""Fields that requests and answers share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.defaults import DEFAULT_COLLECTION

Scalar = str | int | float | bool | None
Filter = dict[str, Scalar | list[Scalar]]
Fraction = Annotated[float, Field(ge=0, le=1)]
Corners = tuple[Fraction, Fraction, Fraction, Fraction]
Limit = Annotated[int, Field(ge=1, le=100, description="How many hits to give.")]
LONGEST_CURSOR = 2_000  # characters: one holds an id, of up to 800 bytes, and a signature
Cursor = Annotated[
    str | None, Field(max_length=LONGEST_CURSOR, description="`cursor` of the page before.")
]
ItemId = Annotated[str, Field(description="An id of its owner's choosing, 1 to 200 characters.")]
Probability = Annotated[
    float | None,
    Field(description="Comparable between queries; null where the matcher is not calibrated."),
]


class Body(BaseModel):
    """What a client sends: unknown fields and numbers that are none are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    collection: str = DEFAULT_COLLECTION
