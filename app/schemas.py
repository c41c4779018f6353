"""What requests and answers look like as JSON: the HTTP edge."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from app.engine import DEFAULT_COLLECTION
from models.alignment import BETA

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


class Phrase(BaseModel):
    """A part of a query; its weight scales what it gives to the score."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    text: str
    weight: Annotated[float, Field(gt=0, le=10)] = 1.0


class Search(Body):
    """What every search takes; its query is a text, weighted phrases, or a photo."""

    text: str | None = None
    phrases: Annotated[list[Phrase], Field(min_length=1, max_length=50)] | None = None
    id: str | None = None
    limit: Limit = 20
    cursor: Cursor = None
    filter: Filter | None = Field(
        None, description="Metadata that hits must have: a value or any of a list, for every key."
    )
    box: Corners | None = Field(
        None, description="The part of the image to search with: left, top, right, bottom, 0 to 1."
    )
    min_probability: Fraction | None = Field(
        None, description="Leave out hits that are less probable."
    )
    exact: bool = Field(
        False, description="Look at every stored row, so that no hit can be missed; slower."
    )


class ImageSearch(Search):
    """Search photos by a text, by weighted phrases, by a stored item's photo, or by an upload."""


class TextSearch(Search):
    """Search sentences by an upload, by a stored item's photo, by a text, or by phrases."""


class AlignRequest(Body):
    """Explain how a photo, stored or uploaded, answers a sentence."""

    text: str
    id: str | None = None
    beta: float = Field(BETA, ge=0, description="How strongly neighbouring words share a region.")


class GroundRequest(Body):
    """Find what phrases of a text mean in a photo, stored or uploaded."""

    text: str
    id: str | None = None
    phrases: Annotated[list[str], Field(min_length=1, max_length=50)] | None = Field(
        None, description="Parts of the text, in its words; the whole text if there are none."
    )
    count: int = Field(1, ge=1, le=20, description="Boxes to give for each phrase.")


class CaptionRequest(Body):
    """Describe a photo, stored or uploaded."""

    id: str | None = None
    beam: int = Field(5, ge=1, le=20, description="Hypotheses that are followed; 1 is greedy.")
    count: int = Field(1, ge=1, le=20, description="Captions to give, at most `beam`.")


class ItemBody(Body):
    """What an item holds beside its photo."""

    metadata: dict[str, JsonValue] = {}
    sentences: Annotated[list[str], Field(max_length=1000)] = []


class ImportLine(BaseModel):
    """One line of a bulk import; `image` is base64."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    id: str
    metadata: dict[str, JsonValue] = {}
    sentences: Annotated[list[str], Field(max_length=1000)] = []
    image: str | None = None


class ImportStatus(BaseModel):
    """What became of one line of a bulk import: "stored" means safe on disk."""

    line: int
    id: str | None
    status: Literal["stored", "refused"]
    reason: str | None = None


class FragmentOut(BaseModel):
    """A word of a text or a region of a photo, as a person reads it."""

    label: str
    span: tuple[int, int] | None = None
    box: tuple[float, float, float, float] | None = None


class LinkOut(BaseModel):
    """One term of a score: a fragment of the sentence side and the region that answers it."""

    label: str
    span: tuple[int, int] | None = None
    box: tuple[float, float, float, float] | None = None
    fragment: int
    region: int
    similarity: float
    whole: float | None = Field(
        default=None, description="What the whole photo gave to the similarity."
    )
    added: float | None = Field(default=None, description="What the region added to that.")
    negated: bool = Field(default=False, description="The query negates it: it gives 0 or less.")


class PhraseOut(BaseModel):
    """Words that belong together, and what they gave; the box is null unless a region earned it."""

    text: str
    span: tuple[int, int]
    similarity: float
    whole: float | None
    added: float | None
    box: tuple[float, float, float, float] | None
    negated: bool


class QueryOut(BaseModel):
    """The query as it was understood."""

    text: str | None
    fragments: list[FragmentOut]
    notes: list[str] = []


class SearchedOut(BaseModel):
    """How hits were found."""

    exact: bool = Field(description="Whether every row was looked at, so that none was missed.")
    rows: int = Field(description="The photos or sentences there are to search.")
    candidates: int = Field(description="How many of them were scored.")
    behind: int = Field(description="Changes that the index has not taken in yet; 0 if whole.")


class ImageHit(BaseModel):
    """A photo and why it was found; the links add up to the score, and so do the phrases."""

    id: str
    score: float
    probability: Probability
    image: str
    width: int
    height: int
    metadata: dict[str, Any]
    sentences: list[str]
    links: list[LinkOut]
    phrases: list[PhraseOut]


class SentenceHit(BaseModel):
    """A sentence and why it was found; the links add up to the score, and so do the phrases."""

    id: str
    position: int
    sentence: str
    score: float
    probability: Probability
    image: str | None
    metadata: dict[str, Any]
    links: list[LinkOut]
    phrases: list[PhraseOut]


class Hits(BaseModel):
    """What every search answers with."""

    collection: str
    model: str
    query: QueryOut
    weak_below: Probability = Field(description="A hit with a lower probability counts as weak.")
    searched: SearchedOut
    cursor: str | None


class ImageHits(Hits):
    """Photos, best first."""

    hits: list[ImageHit]


class SentenceHits(Hits):
    """Sentences, best first."""

    hits: list[SentenceHit]


class AlignmentOut(BaseModel):
    """Which region of a photo answers which words; the links add up to the score."""

    text: str
    score: float
    image: str | None
    width: int
    height: int
    fragments: list[FragmentOut]
    boxes: list[tuple[float, float, float, float]]
    links: list[LinkOut]
    phrases: list[PhraseOut]
    notes: list[str] = []


class BoxOut(BaseModel):
    """A part of a photo, and how well it fits a phrase: larger is better, in one photo."""

    box: tuple[float, float, float, float]
    similarity: float


class GroundedOut(BaseModel):
    """A phrase and what it means, the likeliest box first; none if the photo does not show it."""

    text: str
    span: tuple[int, int]
    probability: Probability
    present: bool
    boxes: list[BoxOut]


class GroundingOut(BaseModel):
    """Where in a photo the phrases of a text are."""

    text: str
    image: str | None
    width: int
    height: int
    phrases: list[GroundedOut]
    notes: list[str] = []


class CaptionOut(BaseModel):
    """A sentence and its log-probability (natural logarithm, summed over words).

    `probability` is the matcher's: that the photo shows what the sentence says.
    """

    text: str
    log_probability: float
    probability: Probability


class CaptionsOut(BaseModel):
    """Captions, best first."""

    captions: list[CaptionOut]
    unsure_below: Probability = Field(description="A caption with a lower one is a guess.")
    notes: list[str] = []


class ItemOut(BaseModel):
    """A stored item; width and height are those of its display copy, 0 without a photo."""

    id: ItemId
    metadata: dict[str, Any]
    sentences: list[str]
    image: str | None
    width: int
    height: int


class StoredItem(ItemOut):
    """An item just stored, and what was left out of its photo."""

    notes: list[str] = []


class ItemsOut(BaseModel):
    """A page of items, in the order of their ids."""

    collection: str
    items: list[ItemOut]
    cursor: str | None


class CollectionOut(BaseModel):
    """A named set of items, all embedded by one model."""

    name: str
    items: int
    model: str
    dimension: int
    score: str
    usable: bool = Field(description="Whether the loaded model made it.")


class CollectionsOut(BaseModel):
    """The collections there are, by name."""

    collections: list[CollectionOut]


class ExampleOut(BaseModel):
    """A query for the sample photos, and the id of the photo that it describes."""

    text: str
    id: ItemId


class ExamplesOut(BaseModel):
    """Queries that the page offers; none if the default collection does not hold the sample."""

    queries: list[ExampleOut]


class ModelOut(BaseModel):
    """A loaded checkpoint."""

    name: str
    fingerprint: str


class MatcherOut(ModelOut):
    """The loaded matcher."""

    dimension: int
    score: str


class Limits(BaseModel):
    """How much may be uploaded."""

    upload_bytes: int
    upload_pixels: int
    text_bytes: int


class ModelsOut(BaseModel):
    """What answers here."""

    matcher: MatcherOut
    captioner: ModelOut | None
    grounder: ModelOut | None
    limits: Limits


class SideOut(BaseModel):
    """What is searched on one side of a collection."""

    rows: int
    in_memory: int = Field(description="Rows that no file has yet.")
    found_by: dict[str, int] = Field(
        description='Rows by what finds them: "scan", "flat", "lists".'
    )


class IndexOut(BaseModel):
    """How a collection is searched."""

    collection: str
    segments: int
    bytes: int = Field(description="Bytes of codes and summaries, in files and in memory.")
    revision: int = Field(description="The change up to which everything is searched.")
    behind: int = Field(description="Changes that the index has not taken in yet; 0 if whole.")
    images: SideOut
    sentences: SideOut


class AuditRequest(Body):
    """Queries to answer twice, as usual and exactly; the newest searches if none are sent."""

    queries: Annotated[list[str], Field(min_length=1, max_length=200)] | None = None
    limit: Limit = 10


class AuditOut(BaseModel):
    """The share of exact answers' hits that the usual answers had."""

    collection: str
    queries: int
    recall: float = Field(description="The mean over queries; 1 where there were none.")
    worst: float = Field(description="The smallest of any query.")
