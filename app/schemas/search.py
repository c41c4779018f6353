"""Requests and answers of searches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field, field_validator

from app.schemas.facets import FacetOut, Facets, Sort
from app.schemas.fields import (
    MOST_FIELDS,
    SEARCH,
    Body,
    Corners,
    Cursor,
    DamagedItems,
    Filter,
    Fraction,
    HitPhoto,
    HitSecond,
    Limit,
    MetadataKey,
    PhotoNumber,
    PhotoWeight,
    Probability,
    RequestPart,
    Thumbnail,
)


class PhraseIn(RequestPart):
    """A part of a query; the weight scales its part of the score."""

    text: str
    weight: Annotated[float, Field(gt=0, le=10)] = 1.0


class PhotoBody(Body):
    """A search by text, stored photo, part of a photo, or upload.

    An upload comes next to these fields.
    """

    most_text = SEARCH
    text: str | None = None
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

    phrases: Annotated[list[PhraseIn], Field(min_length=1, max_length=50)] | None = None
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
        description="The metadata keys that hits carry: all of them if not set, none if empty. "
        "They change no score; /search/products ranks by the words in fields as well.",
    )

    @field_validator("fields", mode="before")
    @classmethod
    def _name_keys(cls, fields: object) -> object:
        """Raise ValueError for weights of fields, with their right place."""
        if isinstance(fields, Mapping):
            raise ValueError(
                "a list of the metadata keys that hits carry; weights of fields, such as "
                '{"title": 2}, belong to /search/products, which ranks by words and photos together'
            )
        return fields

    def choose_metadata(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Return a hit's metadata, in the order of `fields`."""
        if self.fields is None:
            return metadata
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
    words: bool = Field(
        True,
        description="Look up words of the text in the title, keywords, description, people, city, "
        "region, country, folder, file and camera of items, too: photos with them rise.",
    )

    dates: bool = Field(
        True,
        description='Take dates in the text, such as "June 2021" or "last summer", for a filter of '
        "`taken`, in collections with such dates.",
    )

    @property
    def lists(self) -> bool:
        """Whether all probable photos are counted, or ordered by a key."""
        return bool(self.facets) or self.sort is not None

    @property
    def browses(self) -> bool:
        """Whether it lists photos without a query or a stored photo."""
        return self.lists and not ((self.text or "").strip() or self.phrases or self.id)


class TextSearch(Search):
    """Search sentences by an upload, a stored photo, a text or phrases."""


class FragmentOut(BaseModel):
    """A word or a region, with a readable label."""

    label: str
    span: tuple[int, int] | None = None
    box: tuple[float, float, float, float] | None = None


class LinkOut(BaseModel):
    """A term of a score: a fragment of the sentence and its region."""

    label: str
    span: tuple[int, int] | None = None
    box: tuple[float, float, float, float] | None = None
    fragment: int
    region: int
    similarity: float
    whole: float | None = Field(
        default=None,
        description="What the whole photo gave; of a sentence, its words without a link.",
    )
    added: float | None = Field(
        default=None, description="What the region, or the word, added to that."
    )
    negated: bool = Field(
        default=False,
        description="The query negates it; it gives 0 or less.",
    )


class PhraseOut(BaseModel):
    """A phrase and its part of the score.

    The box is null without a region.
    """

    text: str
    span: tuple[int, int]
    similarity: float
    whole: float | None
    added: float | None
    box: tuple[float, float, float, float] | None
    negated: bool


class WordOut(BaseModel):
    """A word of the text, its place, and its interpretation."""

    text: str
    span: tuple[int, int]
    spelling: str | None = Field(description="The spelling that it was corrected to.")
    synonyms: list[str] = Field(default=[], description="Words that are searched as well.")


class QueryFilter(BaseModel):
    """A part of the text as a filter, such as a date.

    `words` say what it stands for. To refuse it, send `"dates": false`.
    """

    text: str
    span: tuple[int, int]
    filter: dict[str, Any]
    words: str


class QueryOut(BaseModel):
    """The query as it was understood.

    Spans point into `corrected`, where there is one.
    """

    text: str | None
    corrected: str | None = Field(None, description="The text with corrected spellings.")
    words: list[WordOut] = Field([], description="The words that were corrected.")
    filters: list[QueryFilter] = Field(
        default=[], description="Dates of the text: only photos of any of them are hits."
    )
    fragments: list[FragmentOut]
    notes: list[str] = []


class SearchedOut(BaseModel):
    """Statistics of a search."""

    exact: bool = Field(description="Whether every row was looked at, so that none was missed.")
    rows: int = Field(description="The photos or sentences there are to search.")
    candidates: int = Field(description="How many of them were scored.")
    behind: int = Field(description="Changes that the index has not taken in yet; 0 if whole.")
    complete: bool = Field(description="Whether all of the collection was searched.")
    coverage: float = Field(
        description="The share of it that was, below 1 while a shard of a cluster is away."
    )
    damaged: DamagedItems = []


class WordGave(BaseModel):
    """A word of the item, and its share of the score."""

    word: str
    field: str
    gave: float


class ImageHit(BaseModel):
    """An item by its best photo.

    Links, or phrases, and words add up to the score.
    """

    id: str
    score: float
    probability: Probability
    photo: HitPhoto
    second: HitSecond = None
    image: str
    thumbnail: Thumbnail
    width: int
    height: int
    metadata: dict[str, Any]
    sentences: list[str]
    links: list[LinkOut]
    phrases: list[PhraseOut]
    words: list[WordGave] = Field(
        default=[], description="What words of its name, place, keywords and description gave."
    )


class SentenceHit(BaseModel):
    """A sentence and its score; links add up to it, as phrases do.

    A text is compared by the cosine of the sums of both sides' words. Then a link's `fragment`
    counts in the query, and `label`, `span` and `region` are of the word that answers it.
    """

    id: str
    position: int
    sentence: str
    score: float
    probability: Probability
    image: str | None
    thumbnail: Thumbnail
    metadata: dict[str, Any]
    links: list[LinkOut]
    phrases: list[PhraseOut]


class Hits(BaseModel):
    """Fields of every answer to a search."""

    collection: str
    model: str
    query: QueryOut
    weak_below: Probability = Field(
        description="A hit with a lower probability counts as weak. Where a text asks for things, "
        "half or more of the photos from there on are expected to be right."
    )
    searched: SearchedOut
    cursor: str | None


class ImageHits(Hits):
    """Photos, best first or sorted, and counts of all if asked for."""

    min_probability: float | None = Field(
        default=None, description="From which on photos were sorted and counted here."
    )
    total: int | None = Field(
        default=None, description="How many items are as probable and pass the filter, if counted."
    )
    facets: list[FacetOut] = Field(default=[], description="Counts over all of these.")
    hits: list[ImageHit]


class SentenceHits(Hits):
    """Sentences, best first."""

    hits: list[SentenceHit]
