"""Fields of several requests and answers."""

from __future__ import annotations

import sys
from typing import Annotated, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from app.defaults import DEFAULT_COLLECTION
from index.filters import MOST_CONDITIONS, MOST_VALUES
from index.items import LONGEST_ID

Scalar = str | int | float | bool | None
Filter = Annotated[
    dict[str, JsonValue],
    Field(
        description="Metadata that items must have. Every key must hold: "
        '{"colour": "red"}, any of several ["red", "blue"], a range {"gte": 10, "lt": 50} of '
        'numbers or of texts such as dates, {"prefix": "Nike"}, {"exists": true}. '
        '{"$or": [filters]}, {"$and": [filters]} and {"$not": filter} combine filters. Up to '
        f"{MOST_CONDITIONS} conditions and {MOST_VALUES:,} values in all.",
        json_schema_extra={"maxProperties": MOST_CONDITIONS},
        examples=[{"colour": ["red", "blue"]}],
    ),
]
Fraction = Annotated[float, Field(ge=0, le=1)]
Corners = tuple[Fraction, Fraction, Fraction, Fraction]
MetadataKey = Annotated[str, Field(min_length=1, max_length=200, description="A metadata key.")]
MOST_FIELDS = 50


def _integral(value: object) -> object:
    """Convert a number such as 3.0 to an integer.

    It is an integer in JSON Schema.
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value


INTEGRAL = BeforeValidator(_integral)  # comes last of what annotates a type
Limit = Annotated[int, Field(ge=1, le=100, description="How many hits to give."), INTEGRAL]
LONGEST_URL = 2_000  # characters
LONGEST_CURSOR = 8_000  # characters: one holds an id and a signature
Cursor = Annotated[
    str | None, Field(max_length=LONGEST_CURSOR, description="`cursor` of the page before.")
]
ItemId = Annotated[
    str,
    Field(description=f"An id of its owner's choosing, 1 to {LONGEST_ID:,} bytes in UTF-8."),
]
DamagedItems = Annotated[
    list[str],
    Field(description="Damaged items that were left out: put them again, or restore a snapshot."),
]
ImageUrl = Annotated[
    str | None,
    Field(
        max_length=LONGEST_URL,
        description="Address of the photo instead of an image: http:// or https://, on the public "
        "internet. The service fetches it if its operator has switched that on.",
    ),
]
PhotoNumber = Annotated[
    int,
    Field(ge=0, description="Which of the photos of the item that `id` names, from 0."),
    INTEGRAL,
]
PhotoWeight = Annotated[
    float | None,
    Field(
        ge=-10,
        le=10,
        description="Search by a text and a photo together, and count the photo so much, where the "
        'text counts 1: "like this, but blue". Below 0, what looks like the photo loses; 0 is '
        "refused, as the photo would not count.",
    ),
]
Thumbnail = Annotated[
    str | None,
    Field(description="A WebP of at most 320 pixels to keep for good; size=medium has 640."),
]
HitPhoto = Annotated[int, Field(description="Which of the item's photos answers best, from 0.")]
HitSecond = Annotated[
    float | None,
    Field(description="The second of a video or animation; null for photos."),
]
Probability = Annotated[
    float | None,
    Field(description="Comparable between queries; null where the matcher is not calibrated."),
]


NAMES = 2**12  # bytes: a key of 1,000 characters, or two names of 200
TEXTS = 2**16  # a text and phrases
SEARCH = 2**18  # a filter of 1,000 values of 200 characters
ALL = sys.maxsize  # what TESSERA_TEXT_BYTES says: metadata and sentences, 10,000 ids


class RequestPart(BaseModel):
    """A part of a request; refuses unknown fields and infinite numbers."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class RequestBody(RequestPart):
    """The body of a request, with limits of its size."""

    most_text: ClassVar[int]  # bytes, photos aside
    most_photos: ClassVar[int] = 1  # files of a form; if several, JSON may have them in base64
    media_types: ClassVar[tuple[str, ...]] = ("application/json",)


class Body(RequestBody):
    """A body with the name of its collection."""

    collection: str = DEFAULT_COLLECTION
