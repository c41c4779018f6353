"""Requests of searches for photos and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, field_validator

from app.schemas.emoji import QueryText
from app.schemas.facets import Facets, Sort
from app.schemas.fields import (
    MOST_FIELDS,
    SEARCH,
    Body,
    Corners,
    Cursor,
    Filter,
    Fraction,
    Limit,
    MetadataKey,
    PhotoNumber,
    PhotoWeight,
    RequestPart,
)
from index.photos.visible_text import BOXES


class PhraseIn(RequestPart):
    """A part of a query; the weight scales its part of the score."""

    text: QueryText
    weight: Annotated[float, Field(gt=0, le=10)] = 1.0


class PhotoBody(Body):
    """A search by text, stored photo, part of a photo, or upload.

    An upload comes next to these fields.
    """

    most_text = SEARCH
    text: QueryText | None = None
    id: str | None = None
    photo: PhotoNumber = 0
    photo_weight: PhotoWeight = None
    box: Corners | None = Field(
        None, description="The part of the photo to search with: left, top, right, bottom, 0 to 1."
    )

    @property
    def embeds_photo(self) -> bool:
        """Return whether a part of a stored photo must be embedded."""
        return self.id is not None and self.box is not None


class Search(PhotoBody):
    """Fields of every search.

    The query is a text, weighted phrases or a photo.
    """

    phrases: Annotated[list[PhraseIn], Field(min_length=1, max_length=50)] | None = Field(
        None, examples=[[{"text": "a red car", "weight": 2}, {"text": "snow"}]]
    )
    limit: Limit = 20
    cursor: Cursor = None
    filter: Filter | None = None
    min_probability: Fraction | None = Field(
        None, description="Leave out hits that are less probable."
    )
    exact: bool = Field(
        False, description="Look at every stored row, so that no hit can be missed; slower."
    )
    spelling: bool = Field(
        True,
        description="Correct words that the model does not know, and say so; without it they are "
        "left out.",
    )
    fields: Annotated[list[MetadataKey], Field(max_length=MOST_FIELDS)] | None = Field(
        None,
        examples=[["title", "price"]],
        description="The metadata keys that hits carry: all of them but `text_boxes` if not set, "
        "none if empty. "
        "They change no score; /search/products ranks by the words in fields as well.",
    )

    @field_validator("fields", mode="before")
    @classmethod
    def _name_keys(cls, fields: object) -> object:
        """Raise ValueError for weights of fields, with their right place."""
        if isinstance(fields, Mapping):
            raise ValueError(
                'weights of fields, such as {"title": 2}, belong to /search/products, which ranks '
                "by words and photos together; here they are a list of the metadata keys of hits"
            )
        return fields

    def choose_metadata(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Return a hit's metadata, in the order of `fields`.

        Without them, all but the boxes of text.
        """
        if self.fields is None:
            return {key: value for key, value in metadata.items() if key != BOXES}
        return {key: metadata[key] for key in self.fields if key in metadata}


class ImageSearch(Search):
    """A search for photos.

    The query is a text, weighted phrases, a stored photo or an upload. With `sort` or `facets` it
    may be left out: then all photos that pass the filter are listed.
    """

    min_probability: Fraction | None = Field(
        None,
        description="Leave out hits that are less probable. Where photos are sorted or counted "
        "and this is not set, it is `weak_below`.",
    )
    facets: Facets = Field(default_factory=list)
    sort: Sort = None
    collapse: MetadataKey | None = Field(
        None,
        description="Give the best photo of each value of this key, such as `series`: one of those "
        "that are nearly the same.",
    )
    words: bool = Field(
        True,
        description="Look up words of the text in the title, keywords, description, people, city, "
        "region, country, folder and file of items, too: photos with them rise.",
    )

    dates: bool = Field(
        True,
        description='Take dates in the text, such as "June 2021" or "last summer", for a filter of '
        "`taken`, in collections with such dates.",
    )

    @property
    def lists(self) -> bool:
        """Whether all probable photos are counted, or ordered by a key."""
        return self.orders or (self.collapse is not None and self.min_probability is not None)

    @property
    def orders(self) -> bool:
        """Whether it may list photos without a query."""
        return bool(self.facets) or self.sort is not None

    @property
    def browses(self) -> bool:
        """Whether it lists photos without a query or a stored photo."""
        return self.orders and not ((self.text or "").strip() or self.phrases or self.id)


class TextSearch(Search):
    """Search sentences by an upload, a stored photo, a text or phrases."""
