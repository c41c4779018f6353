"""Facets and the order of hits: fields of requests and of answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from app.schemas.fields import INTEGRAL, MetadataKey, RequestPart, Scalar
from index.documents.calendar import Level

MOST_FACETS = 20


class FacetIn(RequestPart):
    """A key for facets: counts of its values, ranges of numbers, and dates."""

    key: MetadataKey
    limit: Annotated[int, Field(ge=1, le=1000), INTEGRAL] = 20
    bounds: Annotated[list[float], Field(max_length=50)] = Field(
        default_factory=list, description="Where ranges of numbers meet; round ones if empty."
    )
    by: Level | None = Field(
        None, description="The periods that dates are counted by; by their span if not set."
    )


class SortIn(RequestPart):
    """The key for the order of hits.

    Items without it come last.
    """

    key: MetadataKey
    order: Literal["asc", "desc"] = "asc"


Facets = Annotated[
    list[MetadataKey | FacetIn],
    Field(
        max_length=MOST_FACETS,
        description="Keys whose values are counted among relevant items, with ranges of numbers "
        "and periods of dates.",
        examples=[["brand", {"key": "taken", "by": "month"}]],
    ),
]
Sort = Annotated[
    SortIn | None,
    Field(description="By relevance if not set.", examples=[{"key": "price", "order": "asc"}]),
]


class ValueCount(BaseModel):
    """A value, and its number of relevant items."""

    value: Scalar
    count: int


class RangeCount(BaseModel):
    """The number of relevant items in a range of numbers.

    The range is from `start` to below `end`.
    """

    start: float | None
    end: float | None
    count: int


class DateCount(BaseModel):
    """A year, month or day, and its number of relevant items.

    `filter` is a condition on the key that exactly these items meet.
    """

    value: str = Field(examples=["2019-08"])
    count: int
    filter: dict[str, str] = Field(examples=[{"prefix": "2019-08-"}])


class FacetOut(BaseModel):
    """The values of a key, counted over all relevant items.

    With `collapse`, over their groups: so many hits a filter on the value shows.
    """

    key: str
    values: list[ValueCount]
    distinct: int = Field(description="How many values there are.")
    missing: int = Field(description="How many of the items have none.")
    least: float | None = Field(description="The smallest number.")
    most: float | None = Field(description="The largest number.")
    ranges: list[RangeCount]
    by: Level | None = Field(
        None, description="The periods of dates: longer ones than asked for where those are many."
    )
    dates: list[DateCount] = Field(
        default_factory=list, description="Periods with items, the earliest first."
    )
