"""Answers of searches: the query as read, hits and their proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field

from app.schemas.facets import FacetOut
from app.schemas.fields import (
    Corners,
    DamagedItems,
    HitPhoto,
    HitSecond,
    Probability,
    Thumbnail,
)


class FragmentOut(BaseModel):
    """A word or a region, with a readable label."""

    label: str
    span: tuple[int, int] | None = None
    box: tuple[float, float, float, float] | None = None


# An answer has hundreds of links and phrases, which dataclasses make in a tenth of a model's time.
@dataclass(slots=True, kw_only=True)
class LinkOut:
    """A term of a score: a fragment of the sentence and its region."""

    label: str
    span: tuple[int, int] | None = None
    box: tuple[float, float, float, float] | None = None
    fragment: int
    region: int
    similarity: float
    whole: Annotated[
        float | None,
        Field(description="What the whole photo gave; of a sentence, its words without a link."),
    ] = None
    added: Annotated[
        float | None, Field(description="What the region, or the word, added to that.")
    ] = None
    negated: Annotated[bool, Field(description="The query negates it; it gives 0 or less.")] = False


@dataclass(slots=True, kw_only=True)
class PhraseOut:
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


class WordBox(BaseModel):
    """The place of a word in one of an item's photos."""

    photo: HitPhoto
    box: Corners


class WordGave(BaseModel):
    """A word of the item, and its share of the score."""

    word: str
    field: str
    gave: float
    boxes: list[WordBox] = Field(
        default=[], description="Where it stands in the photos, if it is text that they show."
    )


class PhotoHit(BaseModel):
    """A photo of an item, or a part of one, and its proof."""

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


class ImageHit(PhotoHit):
    """An item by its best photo.

    Links, or phrases, and words add up to the score.
    """

    words: list[WordGave] = Field(
        default=[],
        description="What words of its name, place, keywords, description and text gave.",
    )
    variants: int = Field(
        default=1, description="How many items it stands for, itself among them, if collapsed."
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
    groups: int | None = Field(
        default=None, description="How many hits there are, where photos are collapsed."
    )
    facets: list[FacetOut] = Field(default=[], description="Counts over all of these.")
    hits: list[ImageHit]


class SentenceHits(Hits):
    """Sentences, best first."""

    hits: list[SentenceHit]
