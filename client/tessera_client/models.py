"""Answers of the service, made by `make client` of its OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, Field, RootModel


class Alias(BaseModel):
    """Another name of a collection."""

    name: str
    collection: str


class Aliases(BaseModel):
    """The aliases there are, by name."""

    aliases: list[Alias]


class Box(RootModel[float]):
    root: Annotated[float, Field(ge=0.0, le=1.0)]


class Attention(BaseModel):
    """The region with most of the captioner's attention at a word."""

    box: list[Box]
    share: Annotated[float, Field(description="Of its attention, 0 to 1.")]


class Audit(BaseModel):
    """The share of exact hits in the usual answers."""

    collection: str
    queries: int
    recall: Annotated[
        float | None, Field(description="The mean over queries; null where there were none.")
    ]
    worst: Annotated[float | None, Field(description="The smallest of any query.")]
    note: Annotated[
        str | None, Field(description="Why there were no queries, where there were none.")
    ]


class BegunSnapshot(BaseModel):
    """An unfinished snapshot, and its later address."""

    name: str
    url: str


class Box1(BaseModel):
    """A box, and its similarity to a phrase: comparable within one photo."""

    box: list[float]
    similarity: float


class Box2(RootModel[float]):
    root: Annotated[float, Field(ge=0.0, le=1.0)]


class CaptionWord(BaseModel):
    """A word of a caption: the matcher's evidence, and the captioner's attention.

    Function words have no contribution, box and confidence. Contributions add up to the caption's
    score, where no fragment stands for the whole sentence.
    """

    text: str
    span: list[int]
    log_probability: float
    contribution: Annotated[
        float | None,
        Field(description="What the word and function words next to it give to the score."),
    ]
    box: Annotated[
        list[Box2] | None,
        Field(
            description="The region that earned it; null where the whole photo answers, or nothing."
        ),
    ]
    confidence: Annotated[
        float | None,
        Field(description="Comparable between queries; null where the matcher is not calibrated."),
    ]
    supported: Annotated[
        bool | None,
        Field(description="Whether the photo supports the word; null where it is not known."),
    ]
    attention: Annotated[
        Attention | None, Field(description="Null where the captioner does not attend to boxes.")
    ]


class Collection(BaseModel):
    """A named set of items with one model, as read here.

    After `tessera index --reembed --keep`, a service of the former model reads what was kept.
    """

    name: str
    aliases: Annotated[list[str], Field(description="Other names that stand for it.")]
    items: int
    coming: Annotated[
        int, Field(description="What imports on this machine still bring, as far as known.")
    ]
    importing: Annotated[
        bool, Field(description="Whether an import on this machine runs, or starts.")
    ]
    model: Annotated[str, Field(description="The fingerprint of the model that made it.")]
    dimension: int
    score: str
    usable: Annotated[bool, Field(description="Whether the loaded model made it.")]


class Collections(BaseModel):
    """The collections there are, by name."""

    collections: list[Collection]


class DateCount(BaseModel):
    """A year, month or day, and its number of relevant items.

    `filter` is a condition on the key that exactly these items meet.
    """

    value: Annotated[str, Field(examples=["2019-08"])]
    count: int
    filter: Annotated[dict[str, str], Field(examples=[{"prefix": "2019-08-"}])]


class Deletion(BaseModel):
    """The numbers of matching and deleted items.

    A dry run deletes 0.
    """

    collection: str
    matched: int
    deleted: int


class Delivery(BaseModel):
    """The last attempt to deliver something."""

    id: Annotated[str, Field(description="The header webhook-id.")]
    event: str
    time: Annotated[str, Field(description="When, in UTC: 2026-05-01T12:00:00+00:00.")]
    status: Annotated[
        Literal["delivered", "failed", "given_up"],
        Field(description="`failed` is tried again, up to 10 times in three days."),
    ]
    attempts: int
    detail: Annotated[
        str, Field(description="What the receiver answered, or why it was not reached.")
    ]


class Duplicate(BaseModel):
    """A photo of a series."""

    id: str
    bytes: Annotated[int, Field(description="Of its files, as they were imported.")]
    largest: Annotated[
        bool, Field(description="Whether it has the largest file: the one to keep, if any.")
    ]
    same_file: Annotated[
        bool, Field(description="Whether the largest has the same content, byte by byte.")
    ]
    taken: str | None
    image: Annotated[str | None, Field(description="The address of its display copy.")]
    thumbnail: Annotated[
        str | None,
        Field(description="A WebP of at most 320 pixels to keep for good; size=medium has 640."),
    ]
    width: int
    height: int


class Example(BaseModel):
    """A query for a demonstration, and the id of its item."""

    text: str
    id: Annotated[
        str, Field(description="An id of its owner's choosing, 1 to 1,024 bytes in UTF-8.")
    ]


class Examples(BaseModel):
    """Example queries of the page; none if the collection holds no demonstration."""

    queries: list[Example]


class ForeignFile(BaseModel):
    """A file among the snapshots, but not one of them."""

    name: str
    bytes: int
    problem: Annotated[str, Field(description="Why it is none, or cannot be read.")]


class Fragment(BaseModel):
    """A word or a region, with a readable label."""

    label: str
    span: list[int] | None = None
    box: list[float] | None = None


class Grounded(BaseModel):
    """A phrase and its boxes, the likeliest first; none if it is absent.

    `probability` is that of its being there, where that is as likely as not beforehand.
    """

    text: str
    span: list[int]
    probability: Annotated[
        float | None,
        Field(description="Comparable between queries; null where the matcher is not calibrated."),
    ]
    present: bool
    boxes: list[Box1]


class Grounding(BaseModel):
    """The boxes of a text's phrases in a photo."""

    text: str
    image: str | None
    width: int
    height: int
    phrases: list[Grounded]
    notes: list[str] = []


class ImportStatus(BaseModel):
    """The outcome of a bulk import's line.

    "stored" means safe on disk.
    """

    line: int
    id: str | None = None
    status: Literal["stored", "refused"]
    reason: str | None = None


class Language(BaseModel):
    """The language of a collection's words, English if none was chosen."""

    language: str
    name: str


class Limits(BaseModel):
    """The limits of uploads."""

    upload_bytes: Annotated[int, Field(description="Of one image file.")]
    item_bytes: Annotated[int, Field(description="Of all image files of an item together.")]
    upload_pixels: int
    text_bytes: int


class Link(BaseModel):
    """A term of a score: a fragment of the sentence and its region."""

    label: str
    span: list[int] | None = None
    box: list[float] | None = None
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


class Magnitude(BaseModel):
    """A region or a fragment of a sentence, with its vector's length."""

    label: str
    span: list[int] | None = None
    box: list[float] | None = None
    fragment: Annotated[int, Field(description="Its number in the photo or the sentence, from 0.")]
    magnitude: float


class Magnitudes(BaseModel):
    """The longest vectors of each photo and sentence of an item."""

    id: Annotated[
        str, Field(description="An id of its owner's choosing, 1 to 1,024 bytes in UTF-8.")
    ]
    photos: list[list[Magnitude]]
    sentences: list[list[Magnitude]]


class Matcher(BaseModel):
    """The loaded matcher."""

    name: str
    fingerprint: str
    dimension: int
    score: str


class Model(BaseModel):
    """A loaded checkpoint."""

    name: str
    fingerprint: str


class Models(BaseModel):
    """The loaded models, and the limits of uploads."""

    matcher: Matcher
    captioner: Model | None
    region_captioner: Model | None
    grounder: Model | None
    limits: Limits


class NewWebhook(BaseModel):
    """A new webhook with its secret, shown this once."""

    id: str
    url: str
    events: list[str]
    created: Annotated[str, Field(description="When, in UTC.")]
    enabled: Annotated[bool, Field(description="False once the receiver has answered 410.")]
    waiting: Annotated[int, Field(description="Deliveries that are due, or will be.")]
    lost: Annotated[int, Field(description="Deliveries that were given up.")]
    last: Delivery | None
    secret: str


class Photo(BaseModel):
    """A stored photo, with the size of its display copy."""

    image: str
    thumbnail: Annotated[
        str | None,
        Field(description="A WebP of at most 320 pixels to keep for good; size=medium has 640."),
    ]
    width: int
    height: int


class Phrase(BaseModel):
    """A phrase and its part of the score.

    The box is null without a region.
    """

    text: str
    span: list[int]
    similarity: float
    whole: float | None
    added: float | None
    box: list[float] | None
    negated: bool


class Pin(BaseModel):
    """Pinned items of a text, in their order."""

    text: str
    ids: list[str]


class Pins(BaseModel):
    """The pinned items of a collection."""

    pins: list[Pin]
    notes: Annotated[list[str], Field(description="Which of the items are not stored.")] = []


class Problem(BaseModel):
    """The reason for a failed request (RFC 9457)."""

    type: Annotated[
        str, Field(description="The kind of problem, as a URN: urn:tessera:problem:not-found.")
    ]
    title: str
    status: int
    detail: Annotated[
        str, Field(description="What was wrong with this request, and what would work.")
    ]
    instance: Annotated[str, Field(description="The path that was asked for.")]


class QueryFilter(BaseModel):
    """A part of the text as a filter, such as a date.

    `words` say what it stands for. To refuse it, send `"dates": false`.
    """

    text: str
    span: list[int]
    filter: dict[str, Any]
    words: str


class RangeCount(BaseModel):
    """The number of relevant items in a range of numbers.

    The range is from `start` to below `end`.
    """

    start: float | None
    end: float | None
    count: int


class Refused(BaseModel):
    """A refused file or row."""

    place: str
    reason: str


class RegionHit(BaseModel):
    """A region of a photo; links and phrases add up to its score.

    `whole` is what the whole photo would give to a word, `added` what the region gives beyond it.
    """

    id: str
    score: float
    probability: Annotated[
        float | None,
        Field(description="Comparable between queries; null where the matcher is not calibrated."),
    ]
    photo: Annotated[int, Field(description="Which of the item's photos it is a part of, from 0.")]
    second: Annotated[
        float | None, Field(description="The second of a video or animation; null for photos.")
    ] = None
    image: str
    thumbnail: Annotated[
        str | None,
        Field(description="A WebP of at most 320 pixels to keep for good; size=medium has 640."),
    ]
    width: int
    height: int
    metadata: dict[str, Any]
    sentences: list[str]
    links: list[Link]
    phrases: list[Phrase]
    region: Annotated[int, Field(description="Its number in the photo; 0 is the whole photo.")]
    box: list[float]
    crop: Annotated[str, Field(description="The address of the region as a picture.")]


class Region(BaseModel):
    """A part of a photo and a sentence about it.

    `score` is the matcher's for the two alone, `probability` what that is worth.
    """

    box: list[Box2]
    caption: str
    log_probability: float
    probability: Annotated[
        float | None,
        Field(description="Comparable between queries; null where the matcher is not calibrated."),
    ]
    score: float


class Restoration(BaseModel):
    """Photos of the next import of their folder.

    A service that follows the folder imports them at once.
    """

    collection: str
    restored: list[str]
    unknown: Annotated[
        list[str], Field(description="Ids of no deleted photo of a folder: send these again.")
    ]


class Searched(BaseModel):
    """Statistics of a search."""

    exact: Annotated[
        bool, Field(description="Whether every row was looked at, so that none was missed.")
    ]
    rows: Annotated[int, Field(description="The photos or sentences there are to search.")]
    candidates: Annotated[int, Field(description="How many of them were scored.")]
    behind: Annotated[
        int, Field(description="Changes that the index has not taken in yet; 0 if whole.")
    ]
    complete: Annotated[bool, Field(description="Whether all of the collection was searched.")]
    coverage: Annotated[
        float,
        Field(description="The share of it that was, below 1 while a shard of a cluster is away."),
    ]
    damaged: Annotated[
        list[str],
        Field(
            description="Damaged items that were left out: put them again, or restore a snapshot."
        ),
    ] = []


class SentenceHit(BaseModel):
    """A sentence and its score; links add up to it, as phrases do.

    A text is compared by the cosine of the sums of both sides' words. Then a link's `fragment`
    counts in the query, and `label`, `span` and `region` are of the word that answers it.
    """

    id: str
    position: int
    sentence: str
    score: float
    probability: Annotated[
        float | None,
        Field(description="Comparable between queries; null where the matcher is not calibrated."),
    ]
    image: str | None
    thumbnail: Annotated[
        str | None,
        Field(description="A WebP of at most 320 pixels to keep for good; size=medium has 640."),
    ]
    metadata: dict[str, Any]
    links: list[Link]
    phrases: list[Phrase]


class Series(BaseModel):
    """Near-duplicates: copies of a photo, or shots of a burst."""

    series: Annotated[str, Field(description="The value of the key `series` of these items.")]
    photos: int
    bytes: Annotated[int, Field(description="Of all files but the largest.")]
    items: Annotated[list[Duplicate], Field(description="The largest first, up to a hundred.")]


class Session(BaseModel):
    """The rights of the caller."""

    key_needed: Annotated[bool, Field(description="Whether this service needs a key.")]
    name: Annotated[
        str | None,
        Field(description="The name of the caller's key, or of the user; null without one."),
    ]
    role: Annotated[
        Literal["read", "write", "admin"] | None,
        Field(description="What the caller may do; null where a key is missing."),
    ]
    collections: Annotated[
        list[str] | None,
        Field(description="The collections that the key is bound to; null if it is bound to none."),
    ]
    originals: Annotated[
        bool, Field(description="Whether files of photos may be read by /items/{id}/original.")
    ] = False


class Side(BaseModel):
    """Statistics of the photos or the sentences of a collection."""

    rows: int
    in_memory: Annotated[int, Field(description="Rows that no file has yet.")]
    found_by: Annotated[
        dict[str, int], Field(description='Rows by what finds them: "scan", "codes".')
    ]


class SingleItem(BaseModel):
    """A stored item, read by its id."""

    id: Annotated[
        str, Field(description="An id of its owner's choosing, 1 to 1,024 bytes in UTF-8.")
    ]
    metadata: dict[str, Any]
    sentences: list[str]
    image: str | None
    thumbnail: Annotated[
        str | None,
        Field(description="A WebP of at most 320 pixels to keep for good; size=medium has 640."),
    ]
    width: int
    height: int
    images: list[Photo]
    stamp: Annotated[str | None, Field(description="What was sent as its stamp.")]
    notes: Annotated[list[str], Field(description="What is not given as it was sent.")] = []
    original: Annotated[
        bool,
        Field(description="Whether /items/{id}/original has the file that it was imported from."),
    ] = False


class SnapshotCollection(BaseModel):
    """A collection in a snapshot."""

    name: str
    items: int
    revision: int
    model: Annotated[str, Field(description="The fingerprint of the model that made it.")]


class Snapshot(BaseModel):
    """A snapshot and its address for download."""

    name: str
    url: str
    bytes: int
    made: AwareDatetime
    pictures: int
    collections: list[SnapshotCollection]


class Snapshots(BaseModel):
    """The snapshots there are, the newest first."""

    snapshots: list[Snapshot]
    making: Annotated[BegunSnapshot | None, Field(description="The one that is being made.")]
    foreign: Annotated[
        list[ForeignFile],
        Field(description="What else in the folder has a name that ends in .tar."),
    ]


class StoredItem(BaseModel):
    """A newly stored item.

    Its notes name the parts of photos that were left out.
    """

    id: Annotated[
        str, Field(description="An id of its owner's choosing, 1 to 1,024 bytes in UTF-8.")
    ]
    metadata: dict[str, Any]
    sentences: list[str]
    image: str | None
    thumbnail: Annotated[
        str | None,
        Field(description="A WebP of at most 320 pixels to keep for good; size=medium has 640."),
    ]
    width: int
    height: int
    images: list[Photo]
    stamp: Annotated[str | None, Field(description="What was sent as its stamp.")]
    notes: Annotated[list[str], Field(description="What is not given as it was sent.")] = []


class Suggestion(BaseModel):
    """A completion of a text, and its number of items.

    The items have all its words.

    Only words of titles and of short metadata count.
    """

    text: str
    items: int


class Suggestions(BaseModel):
    """Completions of a text, ordered by number of items."""

    collection: str
    suggestions: list[Suggestion]


class Synonyms(BaseModel):
    """The synonyms of a collection, besides those of TESSERA_SYNONYMS."""

    synonyms: list[list[str]]


class Unread(BaseModel):
    """A kind of files left out of an import."""

    kind: str
    count: int
    examples: Annotated[list[str], Field(description="Places of some.")]


class ValueCount(BaseModel):
    """A value, and its number of relevant items."""

    value: str | int | float | bool | None
    count: int


class Webhook(BaseModel):
    """A webhook, without its secret."""

    id: str
    url: str
    events: list[str]
    created: Annotated[str, Field(description="When, in UTC.")]
    enabled: Annotated[bool, Field(description="False once the receiver has answered 410.")]
    waiting: Annotated[int, Field(description="Deliveries that are due, or will be.")]
    lost: Annotated[int, Field(description="Deliveries that were given up.")]
    last: Delivery | None


class Webhooks(BaseModel):
    """The webhooks of a collection, oldest first."""

    webhooks: list[Webhook]


class WordBox(BaseModel):
    """The place of a word in one of an item's photos."""

    photo: Annotated[int, Field(description="Which of the item's photos answers best, from 0.")]
    box: list[Box2]


class WordGave(BaseModel):
    """A word of the item, and its share of the score."""

    word: str
    field: str
    gave: float
    boxes: Annotated[
        list[WordBox],
        Field(
            description="Where it stands in the photos, if it is text that they show.",
            validate_default=True,
        ),
    ] = []


class Word(BaseModel):
    """A word of the text, its place, and its interpretation."""

    text: str
    span: list[int]
    spelling: Annotated[str | None, Field(description="The spelling that it was corrected to.")]
    synonyms: Annotated[list[str], Field(description="Words that are searched as well.")] = []


class Alignment(BaseModel):
    """The alignment of regions and words.

    The links, or phrases, and words add up to the score.
    """

    text: str
    score: float
    image: str | None
    width: int
    height: int
    fragments: list[Fragment]
    boxes: list[list[float]]
    links: list[Link]
    phrases: list[Phrase]
    words: Annotated[
        list[WordGave],
        Field(
            description="What words of a stored item gave, as in a search.", validate_default=True
        ),
    ] = []
    notes: list[str] = []


class Caption(BaseModel):
    """A sentence and its log-probability (natural logarithm, summed over words).

    `probability` says how likely all things that the sentence names are there: by captioner and
    matcher together, or by the matcher alone where captions were not calibrated with it. A sentence
    that names nothing is a guess as well. `score` is that of the sentence as a query.
    """

    text: str
    log_probability: float
    probability: Annotated[
        float | None,
        Field(description="Comparable between queries; null where the matcher is not calibrated."),
    ]
    unsure: Annotated[
        bool,
        Field(
            description="Whether it is a guess: less probable than `unsure_below`, or of nothing."
        ),
    ]
    score: float
    words: list[CaptionWord]


class Captions(BaseModel):
    """Captions of a photo and of its regions, best first.

    The best caption is the one that captioner and matcher together rank first, not always the one
    of the largest log-probability. Regions whose caption the matcher finds improbable are left out,
    and captions of a broken form: there may be none.
    """

    captions: list[Caption]
    regions: list[Region]
    unsure_below: Annotated[
        float | None, Field(description="A caption with a lower probability is a guess.")
    ]
    notes: list[str] = []


class Duplicates(BaseModel):
    """The series of a collection, the largest first."""

    collection: str
    series: Annotated[int, Field(description="How many there are.")]
    photos: Annotated[int, Field(description="How many photos they have together.")]
    bytes: Annotated[
        int,
        Field(
            description="Of all their files but the largest of each. Deleting items frees none of them: originals are never touched."
        ),
    ]
    groups: list[Series]
    cursor: str | None


class Facet(BaseModel):
    """The values of a key, counted over all relevant items.

    With `collapse`, over their groups: so many hits a filter on the value shows.
    """

    key: str
    values: list[ValueCount]
    distinct: Annotated[int, Field(description="How many values there are.")]
    missing: Annotated[int, Field(description="How many of the items have none.")]
    least: Annotated[float | None, Field(description="The smallest number.")]
    most: Annotated[float | None, Field(description="The largest number.")]
    ranges: list[RangeCount]
    by: Annotated[
        Literal["year", "month", "day"] | None,
        Field(description="The periods of dates: longer ones than asked for where those are many."),
    ] = None
    dates: Annotated[
        list[DateCount] | None, Field(description="Periods with items, the earliest first.")
    ] = None


class ImageHit(BaseModel):
    """An item by its best photo.

    Links, or phrases, and words add up to the score.
    """

    id: str
    score: float
    probability: Annotated[
        float | None,
        Field(description="Comparable between queries; null where the matcher is not calibrated."),
    ]
    photo: Annotated[int, Field(description="Which of the item's photos answers best, from 0.")]
    second: Annotated[
        float | None, Field(description="The second of a video or animation; null for photos.")
    ] = None
    image: str
    thumbnail: Annotated[
        str | None,
        Field(description="A WebP of at most 320 pixels to keep for good; size=medium has 640."),
    ]
    width: int
    height: int
    metadata: dict[str, Any]
    sentences: list[str]
    links: list[Link]
    phrases: list[Phrase]
    words: Annotated[
        list[WordGave],
        Field(
            description="What words of its name, place, keywords, description and text gave.",
            validate_default=True,
        ),
    ] = []
    variants: Annotated[
        int, Field(description="How many items it stands for, itself among them, if collapsed.")
    ] = 1


class Import(BaseModel):
    """The last import of some paths: counts, and unread files."""

    paths: list[str]
    ended: Annotated[str, Field(description="When, in UTC: 2026-05-01T12:00:00+00:00.")]
    counts: Annotated[
        dict[str, int], Field(description="By status: stored, patched, skipped, refused …")
    ]
    unread: list[Unread]
    refused: Annotated[list[Refused], Field(description="The first hundred.")]
    kept: Annotated[list[str], Field(description="Why items of missing files were not deleted.")]


class Imports(BaseModel):
    """The last imports into a collection on this machine, the newest first."""

    imports: list[Import]


class Index(BaseModel):
    """Statistics of a collection's index."""

    collection: str
    segments: int
    bytes: Annotated[
        int, Field(description="Bytes of codes and summaries, in files and in memory.")
    ]
    revision: Annotated[int, Field(description="The change up to which everything is searched.")]
    behind: Annotated[
        int, Field(description="Changes that the index has not taken in yet; 0 if whole.")
    ]
    items: Annotated[int, Field(description="Items that are stored.")]
    coverage: Annotated[
        float, Field(description="The share of it whose shards answer; 1 without a cluster.")
    ]
    coming: Annotated[
        int, Field(description="What imports on this machine still bring, as far as known.")
    ]
    importing: Annotated[
        bool, Field(description="Whether an import on this machine runs, or starts.")
    ]
    images: Side
    sentences: Side


class Item(BaseModel):
    """A stored item, with the size of its first photo; 0 without one."""

    id: Annotated[
        str, Field(description="An id of its owner's choosing, 1 to 1,024 bytes in UTF-8.")
    ]
    metadata: dict[str, Any]
    sentences: list[str]
    image: str | None
    thumbnail: Annotated[
        str | None,
        Field(description="A WebP of at most 320 pixels to keep for good; size=medium has 640."),
    ]
    width: int
    height: int
    images: list[Photo]
    stamp: Annotated[str | None, Field(description="What was sent as its stamp.")]
    notes: Annotated[list[str], Field(description="What is not given as it was sent.")] = []


class Items(BaseModel):
    """A page of items, in the order of their ids."""

    collection: str
    items: list[Item]
    cursor: str | None
    damaged: Annotated[
        list[str],
        Field(
            description="Damaged items that were left out: put them again, or restore a snapshot."
        ),
    ] = []


class MadeSnapshot(BaseModel):
    """A new snapshot."""

    name: str
    url: str
    bytes: int
    made: AwareDatetime
    pictures: int
    collections: list[SnapshotCollection]
    lost: Annotated[int, Field(description="Pictures that items name and the service has lost.")]


class Part(BaseModel):
    """A part of a score: words, exact, looks, likeness, meaning, boost or pinned.

    likeness: the similarity to the photo sent with the text, times `photo_weight`. Those of
    looks, of likeness and of meaning are explained by the links of the photo, or of the sentence,
    with what is searched for; the similarities of links add up to its own score.
    """

    kind: Literal["words", "exact", "looks", "likeness", "meaning", "boost", "pinned"]
    gave: float
    field: str | None = None
    word: str | None = None
    links: Annotated[list[Link], Field(validate_default=True)] = []
    phrases: Annotated[list[Phrase], Field(validate_default=True)] = []


class ProductHit(BaseModel):
    """An item and the parts of its score, with their sum."""

    id: Annotated[
        str, Field(description="An id of its owner's choosing, 1 to 1,024 bytes in UTF-8.")
    ]
    score: float
    probability: Annotated[
        float | None,
        Field(description="Comparable between queries; null where the matcher is not calibrated."),
    ]
    photo: Annotated[int, Field(description="Which of the item's photos answers best, from 0.")]
    second: Annotated[
        float | None, Field(description="The second of a video or animation; null for photos.")
    ] = None
    image: str | None
    thumbnail: Annotated[
        str | None,
        Field(description="A WebP of at most 320 pixels to keep for good; size=medium has 640."),
    ]
    width: int
    height: int
    metadata: dict[str, Any]
    sentences: list[str]
    variants: Annotated[
        int, Field(description="How many relevant items its group has, with itself.")
    ]
    parts: list[Part]


class ProductQuery(BaseModel):
    """The query as it was understood.

    Spans of links point into `corrected`, where there is one.
    """

    text: str | None
    corrected: Annotated[
        str | None,
        Field(
            description="The text as photos are asked for it, if it is another: with corrected spellings, and without a minus."
        ),
    ]
    words: list[Word]
    refused: list[Word]
    notes: list[str]


class Products(BaseModel):
    """Items, best first, and facets over all of the relevant ones."""

    collection: str
    model: str
    query: ProductQuery
    weak_below: Annotated[
        float | None,
        Field(description="Comparable between queries; null where the matcher is not calibrated."),
    ]
    min_probability: Annotated[
        float,
        Field(
            description="From which on a photo, or a sentence, alone made an item relevant here."
        ),
    ]
    items: Annotated[int, Field(description="How many items were searched.")]
    behind: Annotated[int, Field(description="Changes that are not searched yet; 0 if all are.")]
    complete: Annotated[
        bool, Field(description="Whether the photos and sentences of all were searched.")
    ]
    coverage: Annotated[
        float,
        Field(
            description="The share of them that was, below 1 while a shard of a cluster is away."
        ),
    ]
    damaged: Annotated[
        list[str],
        Field(
            description="Damaged items that were left out: put them again, or restore a snapshot."
        ),
    ] = []
    total: Annotated[int, Field(description="How many items are relevant and pass the filter.")]
    groups: Annotated[
        int, Field(description="How many hits there are: groups, where they are collapsed.")
    ]
    facets: list[Facet]
    hits: list[ProductHit]
    cursor: str | None


class Query(BaseModel):
    """The query as it was understood.

    Spans point into `corrected`, where there is one.
    """

    text: str | None
    corrected: Annotated[str | None, Field(description="The text with corrected spellings.")] = None
    words: Annotated[
        list[Word], Field(description="The words that were corrected.", validate_default=True)
    ] = []
    filters: Annotated[
        list[QueryFilter],
        Field(
            description="Dates of the text: only photos of any of them are hits.",
            validate_default=True,
        ),
    ] = []
    fragments: list[Fragment]
    notes: list[str] = []


class RegionHits(BaseModel):
    """Regions, best first."""

    collection: str
    model: str
    query: Query
    weak_below: Annotated[
        float | None,
        Field(
            description="A hit with a lower probability counts as weak. Where a text asks for things, half or more of the photos from there on are expected to be right."
        ),
    ]
    searched: Searched
    cursor: str | None
    hits: list[RegionHit]


class SentenceHits(BaseModel):
    """Sentences, best first."""

    collection: str
    model: str
    query: Query
    weak_below: Annotated[
        float | None,
        Field(
            description="A hit with a lower probability counts as weak. Where a text asks for things, half or more of the photos from there on are expected to be right."
        ),
    ]
    searched: Searched
    cursor: str | None
    hits: list[SentenceHit]


class ImageHits(BaseModel):
    """Photos, best first or sorted, and counts of all if asked for."""

    collection: str
    model: str
    query: Query
    weak_below: Annotated[
        float | None,
        Field(
            description="A hit with a lower probability counts as weak. Where a text asks for things, half or more of the photos from there on are expected to be right."
        ),
    ]
    searched: Searched
    cursor: str | None
    min_probability: Annotated[
        float | None, Field(description="From which on photos were sorted and counted here.")
    ] = None
    total: Annotated[
        int | None,
        Field(description="How many items are as probable and pass the filter, if counted."),
    ] = None
    groups: Annotated[
        int | None, Field(description="How many hits there are, where photos are collapsed.")
    ] = None
    facets: Annotated[
        list[Facet], Field(description="Counts over all of these.", validate_default=True)
    ] = []
    hits: list[ImageHit]
