"""Arguments of tools: a choice of the fields of routes' requests."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, Field, JsonValue

from app.defaults import DEFAULT_COLLECTION
from app.schemas.facets import Sort
from app.schemas.fields import (
    INTEGRAL,
    MOST_FIELDS,
    Corners,
    Cursor,
    Filter,
    ImageUrl,
    MetadataKey,
    PhotoNumber,
    PhotoWeight,
    RequestPart,
)
from app.schemas.items import Sentences, new_id
from index.items import MOST_SENTENCES

HITS, MOST_HITS = 5, 20
MOST_PICTURES = 10
Request = TypeVar("Request", bound=BaseModel)

HitCount = Annotated[
    int, Field(ge=1, le=MOST_HITS, description="How many hits; `cursor` fetches more."), INTEGRAL
]
PictureCount = Annotated[
    int,
    Field(ge=0, le=MOST_PICTURES, description="How many of the first hits come with a picture."),
    INTEGRAL,
]
StoredId = Annotated[str, Field(description="The id of a stored item, as hits give it.")]
PhotoOfItem = Annotated[int, Field(ge=0, description="Which of its photos, from 0."), INTEGRAL]
Keys = Annotated[
    list[MetadataKey],
    Field(
        max_length=MOST_FIELDS,
        description="The metadata keys that hits carry, whole; without it as much of all as fits.",
    ),
]


PartOfPhoto = Annotated[
    Corners, Field(description="Part of the photo of `id`: left, top, right, bottom, 0 to 1.")
]


class NoQuestion(RequestPart):
    """No arguments."""


class Question(RequestPart):
    """The fields of every question to a collection."""

    collection: Annotated[
        str, Field(description="A named set of items; list_collections names all.")
    ] = DEFAULT_COLLECTION

    def request(self, model: type[Request], **fields: Any) -> Request:
        """Make the route's request of these arguments."""
        sent = self.model_dump(exclude_unset=True, exclude={"pictures", "keys"})
        return model.model_validate(sent | fields)


class SearchQuestion(Question):
    """The fields of every search."""

    text: Annotated[str, Field(description="What to look for, in English words.")] | None = None
    id: Annotated[str, Field(description="Find what is like this item's photo.")] | None = None
    photo: PhotoNumber = 0
    filter: Filter | None = None
    limit: HitCount = HITS
    cursor: Cursor = None
    keys: Keys | None = None
    pictures: PictureCount = 3


class PhotoQuestion(SearchQuestion):
    """A search for photos by a text, a photo, or its part."""

    box: PartOfPhoto | None = None
    photo_weight: PhotoWeight = None
    sort: Sort = None


class SentenceQuestion(SearchQuestion):
    """A search for stored sentences by a text or a stored photo."""

    pictures: PictureCount = 0


class ProductQuestion(SearchQuestion):
    """A search for items by words and looks, or a list of them."""

    photo_weight: PhotoWeight = None
    sort: Sort = None


class RegionQuestion(SearchQuestion):
    """A search for parts of photos."""

    box: PartOfPhoto | None = None
    per_photo: Annotated[
        int, Field(ge=1, le=MOST_HITS, description="How many parts of a photo may be hits."),
        INTEGRAL,
    ] = 1  # fmt: skip


class HitQuestion(Question):
    """A text and a stored photo."""

    id: StoredId
    text: Annotated[str, Field(description="The text that the photo was found by, or any other.")]
    photo: PhotoOfItem = 0
    pictures: Annotated[bool, Field(description="Whether to draw the boxes on the photo.")] = True


class CaptionQuestion(Question):
    """A stored photo to describe."""

    id: StoredId
    photo: PhotoOfItem = 0
    regions: Annotated[
        int, Field(ge=0, le=20, description="How many parts to describe as well."), INTEGRAL
    ] = 0
    pictures: Annotated[bool, Field(description="Whether to show the photo.")] = True


class ItemQuestion(Question):
    """A stored item to look at."""

    id: StoredId
    photo: PhotoOfItem = 0
    pictures: Annotated[bool, Field(description="Whether to show the photo.")] = True


class NewItemOrder(Question):
    """An item to store."""

    id: Annotated[str, AfterValidator(new_id), Field(description="An id of your choosing.")]
    sentences: Sentences = Field(default_factory=list, max_length=MOST_SENTENCES)
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    image_url: ImageUrl = None
    replace: Annotated[
        bool, Field(description="Replace a stored item of this id; otherwise that is refused.")
    ] = False


class TagOrder(Question):
    """A change of an item's metadata."""

    id: StoredId
    metadata: Annotated[
        dict[str, JsonValue],
        Field(description="Keys to set; objects are merged, and null deletes a key."),
    ]


class DeletionOrder(Question):
    """An item to delete."""

    id: StoredId
