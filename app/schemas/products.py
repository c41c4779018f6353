"""Requests and answers of product search and of completions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, field_validator

from app.schemas.emoji import ProductText
from app.schemas.facets import FacetOut, Facets, Sort
from app.schemas.fields import (
    MOST_FIELDS,
    Cursor,
    DamagedItems,
    Filter,
    Fraction,
    HitPhoto,
    HitSecond,
    ItemId,
    Limit,
    MetadataKey,
    Probability,
    RequestPart,
    Thumbnail,
)
from app.schemas.hits import LinkOut, PhraseOut, WordOut
from app.schemas.search import PhotoBody
from index.products.requests import LIKELY

Weight = Annotated[float, Field(ge=0, le=10)]
MOST_BOOSTS = 10


class WeightsIn(RequestPart):
    """The scores of perfect matches, by kind.

    `meaning` is that of an item's sentences in the joint space with the text; they are asked where
    the text has an English word that no item has. Together with a text,
    a similar photo gives looks times `photo_weight`.
    """

    words: Weight = 1.0
    exact: Weight = 0.5
    looks: Weight = 0.2
    meaning: Weight = 0.2


class BoostIn(RequestPart):
    """A bonus for items of a filter, or by a number."""

    weight: Annotated[float, Field(ge=-1, le=1)]
    key: MetadataKey | None = None
    filter: Filter | None = None


class ProductSearch(PhotoBody):
    """A search for items by text or photo.

    Without both, it lists all items that pass the filter.

    A blank text is as none.
    """

    text: ProductText | None = None
    filter: Filter | None = None
    min_probability: Fraction | None = Field(
        None,
        description="From which on a photo, or a sentence, alone makes an item relevant. Not set: "
        f"{LIKELY} where a text is sent without a photo, and any item has its words or such a "
        "photo; else `weak_below`. Where a text and a photo are sent with a `photo_weight` above "
        "0, it is compared with how probably an item's photo is like the one sent, and the text "
        "only ranks: a hit's `probability`, the smaller of both, can be below it.",
    )
    facets: Facets = Field(default_factory=list)
    sort: Sort = None
    collapse: MetadataKey | None = Field(
        None, description="Give the best item of each value of this key."
    )
    weights: WeightsIn = Field(WeightsIn(), examples=[{"words": 1, "looks": 0.5}])
    fields: Annotated[dict[str, Weight], Field(max_length=MOST_FIELDS)] = Field(
        default_factory=dict,
        description="Weights of fields; 0 leaves one out.",
        examples=[{"title": 2}],
    )
    boosts: Annotated[list[BoostIn], Field(max_length=MOST_BOOSTS)] = Field(
        default_factory=list,
        examples=[[{"weight": 0.2, "filter": {"sale": True}}, {"weight": 0.1, "key": "rating"}]],
    )
    limit: Limit = 20
    cursor: Cursor = None

    @field_validator("text")
    @classmethod
    def _empty_blank(cls, text: str | None) -> str | None:
        return "" if text is not None and text.isspace() else text


class ProductQueryOut(BaseModel):
    """The query as it was understood.

    Spans of links point into `corrected`, where there is one.
    """

    text: str | None
    corrected: str | None = Field(
        description="The text as photos are asked for it, if it is another: with corrected "
        "spellings, and without a minus."
    )
    words: list[WordOut]
    refused: list[WordOut]
    notes: list[str]


class PartOut(BaseModel):
    """A part of a score: words, exact, looks, likeness, meaning, boost or pinned.

    likeness: the similarity to the photo sent with the text, times `photo_weight`. Those of
    looks, of likeness and of meaning are explained by the links of the photo, or of the sentence,
    with what is searched for; the similarities of links add up to its own score.
    """

    kind: Literal["words", "exact", "looks", "likeness", "meaning", "boost", "pinned"]
    gave: float
    field: str | None = None
    word: str | None = None
    links: list[LinkOut] = []
    phrases: list[PhraseOut] = []


class ProductHit(BaseModel):
    """An item and the parts of its score, with their sum."""

    id: ItemId
    score: float
    probability: Probability
    photo: HitPhoto
    second: HitSecond = None
    image: str | None
    thumbnail: Thumbnail
    width: int
    height: int
    metadata: dict[str, Any]
    sentences: list[str]
    variants: int = Field(description="How many relevant items its group has, with itself.")
    parts: list[PartOut]


class ProductsOut(BaseModel):
    """Items, best first, and facets over all of the relevant ones."""

    collection: str
    model: str
    query: ProductQueryOut
    weak_below: Probability
    min_probability: float = Field(
        description="From which on a photo, or a sentence, alone made an item relevant here."
    )
    items: int = Field(description="How many items were searched.")
    behind: int = Field(description="Changes that are not searched yet; 0 if all are.")
    complete: bool = Field(description="Whether the photos and sentences of all were searched.")
    coverage: float = Field(
        description="The share of them that was, below 1 while a shard of a cluster is away."
    )
    damaged: DamagedItems = []
    total: int = Field(description="How many items are relevant and pass the filter.")
    groups: int = Field(description="How many hits there are: groups, where they are collapsed.")
    facets: list[FacetOut]
    hits: list[ProductHit]
    cursor: str | None


class SuggestionOut(BaseModel):
    """A completion of a text, and its number of items.

    The items have all its words.

    Only words of titles and of short metadata count.
    """

    text: str
    items: int


class SuggestionsOut(BaseModel):
    """Completions of a text, ordered by number of items."""

    collection: str
    suggestions: list[SuggestionOut]
