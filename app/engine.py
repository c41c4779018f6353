"""How the models, the catalog and the index answer together; knows no HTTP."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from torch import Tensor

from index import audit, follower, reembedding
from index.audit import Audit
from index.bags import as_stored
from index.catalog import Catalog
from index.items import Collection, Entry, Picture
from index.requests import Answer, Request
from index.search import Index
from index.snapshot import Snapshot
from models import alignment, checkpoint, images, queries
from models.checkpoint import Checkpoint
from models.images import Photo
from models.queries import Query
from models.registry import Caption, Captioner, Grounder, Matcher
from models.types import Box, FragmentBag, Link, Span

DEFAULT_COLLECTION = "default"
WATCH = 1.0  # seconds


class NoCaptioner(RuntimeError):
    """No captioner is loaded."""


class NoGrounder(RuntimeError):
    """No grounder is loaded."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An item that is still to be embedded; `picture` and `pixels` come together."""

    id: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    picture: Picture | None = None
    pixels: Tensor | None = None  # uint8 (3, height, width), as the picture shows them
    sentences: tuple[str, ...] = ()
    source: str | None = None
    stamp: str | None = None
    notes: tuple[str, ...] = ()  # what was left out of the photo

    def with_photo(self, data: bytes, **limits: int) -> Draft:
        """Decode a photo's bytes and keep their display copy; ImageError if there is none."""
        photo = images.decode(data, longest=images.DISPLAY_SIDE, **limits)
        copy = images.display_copy(photo)
        picture = Picture(copy.jpeg, copy.width, copy.height, sha256(data).hexdigest())
        return replace(self, picture=picture, pixels=copy.pixels, notes=photo.notes)


@dataclass(frozen=True, slots=True)
class Alignment:
    """One photo and one text: which region answers which words, and what that gives."""

    image: FragmentBag
    query: Query
    links: tuple[Link, ...]
    phrases: tuple[alignment.Phrase, ...]

    @property
    def score(self) -> float:
        """The pair's score, which the links add up to."""
        return sum(link.similarity for link in self.links)


@dataclass(frozen=True, slots=True)
class Grounded:
    """A phrase of a text, and the boxes that it means most likely, best first.

    A phrase that is not there has no boxes. `probability` says how sure the matcher is that it is.
    """

    span: Span
    boxes: tuple[tuple[Box, float], ...]  # with their similarities
    probability: float | None = None

    @property
    def present(self) -> bool:
        """Whether the photo shows it."""
        return bool(self.boxes)


class Engine:
    """Everything Tessera does, for many threads at once."""

    def __init__(
        self,
        matcher: Checkpoint,
        captioner: Checkpoint | None,
        catalog: Catalog,
        folder: Path,
        grounder: Checkpoint | None = None,
        device: str = "cpu",
    ) -> None:
        self.matcher_checkpoint = matcher
        self.captioner_checkpoint = captioner
        self.matcher: Matcher = matcher.model
        self.calibration = matcher.calibration
        self.captioner: Captioner | None = captioner.model if captioner else None
        self.grounder_checkpoint = grounder
        self.grounder: Grounder | None = grounder.model if grounder else None
        self.catalog = catalog
        self._folder, self._device = folder, device
        self._indexes: dict[str, tuple[str, Index]] = {}  # by name, with tokens
        self._lock = Lock()
        self._stopped = Event()
        self._watcher: Thread | None = None

    @classmethod
    def load(
        cls,
        *,
        matcher: Path,
        captioner: Path | None,
        data: Path,
        device: str = "cpu",
        grounder: Path | None = None,
    ) -> Engine:
        """Load checkpoints, and open a data folder's catalog; only the matcher must be there."""

        def there(path: Path | None) -> Checkpoint | None:
            return checkpoint.load(path, device) if path and path.is_file() else None

        return cls(
            checkpoint.load(matcher, device),
            there(captioner),
            Catalog.in_folder(data),
            data,
            there(grounder),
            device,
        )

    def query(self, text: str) -> Query:
        """A text as a query; ValueError for one without words or with too many."""
        return self.phrases([(text, 1.0)])

    def phrases(self, weighted: Sequence[tuple[str, float]]) -> Query:
        """Phrases as one query: its score is the weighted sum of the phrases' own scores."""
        words = self.calibration.words if self.calibration else frozenset[str]()
        return queries.of_phrases(self.matcher, weighted, words)

    @property
    def weak_below(self) -> float | None:
        """The probability below which a hit counts as weak; None without a calibration."""
        return self.calibration.weak_below if self.calibration else None

    def probability(self, image: FragmentBag, query: Query) -> float | None:
        """How probable it is that a photo shows what a query asks for; None if nobody knows."""
        if self.calibration is None:
            return None
        return self.calibration.of_pair(image, query, self.matcher.score)

    def photo(self, photo: Photo, part: Box | None = None) -> FragmentBag:
        """The fragments of a photo, or of a part of it; boxes are in fractions of the whole."""
        pixels = photo.pixels if part is None else _cut(photo.pixels, part)
        bag = as_stored(self.matcher.embed_images([pixels])[0])  # uploads and items score alike
        if part is None:
            return bag
        boxes = tuple(_within(part, box) for box in bag.places if isinstance(box, Box))
        return FragmentBag(bag.vectors, boxes, bag.labels)

    def item_photo(self, collection: str, item: str) -> tuple[FragmentBag, Picture]:
        """A stored photo's bag and picture; LookupError where there is none."""
        entry = self.catalog.entry(self.open(collection), item)
        if entry.image is None or entry.picture is None:
            raise LookupError(f"item {item!r} has sentences but no picture")
        return entry.image, entry.picture

    def open(self, collection: str, *, create: bool = False) -> Collection:
        """A collection of this matcher's bags; LookupError if there is none, and none is made.

        The default collection is always there, if empty. ModelMismatch for another model's.
        """
        try:
            found = self.catalog.find(collection)
        except LookupError:
            if not create and collection != DEFAULT_COLLECTION:
                raise
        else:
            if found.fingerprint == self.matcher_checkpoint.fingerprint:
                return found
        return self.catalog.collection(collection, **self._made_by())

    def search(self, collection: str, request: Request) -> Answer:
        """The best hits for a request; errors are those of index.search.Index.best.

        None for a query without parts: nobody knows what it asks for.
        """
        if not request.query.parts:
            return Answer((), exact=True, candidates=0, rows=0)
        return self.index(collection).best(request)

    def audit(self, collection: str, requests: Sequence[Request] | None = None) -> Audit:
        """The recall of requests, or of the newest ones whose answers left rows out."""
        index = self.index(collection)
        return audit.audit(index, index.recent() if requests is None else requests)

    def align(self, image: FragmentBag, query: Query, *, beta: float) -> Alignment:
        """Explain one pair; a larger `beta` (0 or more) makes longer phrases."""
        links = alignment.query_links(image, query, self.matcher.score)
        phrases = alignment.phrases(image, query, links, beta)
        return Alignment(image, query, links, phrases)

    def describe(self, photo: Photo, *, beam: int, count: int) -> list[Caption]:
        """The best captions of a photo, best first; NoCaptioner where none is loaded."""
        if self.captioner is None:
            raise NoCaptioner("no captioner is loaded; set TESSERA_CAPTIONER to a checkpoint")
        return self.captioner.describe([photo.pixels], beam=beam, count=count)[0]

    def caption_probabilities(
        self, photo: Photo, captions: Sequence[Caption], bag: FragmentBag | None = None
    ) -> list[float | None]:
        """How probable it is that a photo shows each caption; `bag` is its own, where known."""
        if self.calibration is None:
            return [None] * len(captions)
        bag = bag or self.photo(photo)
        return [
            self.probability(bag, self.query(caption.text)) if caption.text else 0.0
            for caption in captions
        ]

    def ground(
        self,
        photo: Photo,
        text: str,
        phrases: Sequence[str],
        *,
        count: int,
        bag: FragmentBag | None = None,
    ) -> list[Grounded]:
        """The `count` boxes of a photo that each phrase of a text means most likely.

        `bag` is the photo's, where it is known. A phrase that the photo does not show, or of which
        no word is known, gets no boxes. ValueError for a phrase that is not in the text,
        NoGrounder where none is loaded.
        """
        if self.grounder is None:
            raise NoGrounder("no grounder is loaded; set TESSERA_GROUNDER to a checkpoint")
        spans = [_found(text, phrase) for phrase in phrases]
        boxes, similarities = self.grounder.locate(photo.pixels, text, spans)
        best = similarities.topk(min(count, len(boxes)))
        if self.calibration is not None:
            bag = bag or self.photo(photo)
        found = []
        for span, values, places in zip(spans, best.values, best.indices, strict=True):
            query = self.query(text[span.start : span.end])
            probability = self.probability(bag, query) if bag is not None else None
            absent = probability is not None and probability < (self.weak_below or 0.0)
            means = () if absent or not query.parts else zip(places, values, strict=True)
            own = tuple((Box(*boxes[at].tolist()), one.item()) for at, one in means)
            found.append(Grounded(span, own, probability))
        return found

    def put(self, collection: str, drafts: Sequence[Draft]) -> None:
        """Embed and store items together, all or none: on disk when this returns.

        Makes the collection if it is new. Raises ValueError for what cannot be embedded.
        """
        home = self.open(collection, create=True)
        self.catalog.put_many(home, self._embed(drafts))

    def put_each(self, collection: str, drafts: Sequence[Draft]) -> list[str | None]:
        """Store items, each on its own merits: None for one that is on disk, or what is wrong."""
        if not drafts:
            return []
        self.open(collection, create=True)  # what is wrong with the collection is no item's fault
        try:
            self.put(collection, drafts)
        except ValueError as refused:
            if len(drafts) == 1:
                return [str(refused)]
            return [reason for draft in drafts for reason in self.put_each(collection, [draft])]
        return [None] * len(drafts)

    def build(self) -> None:
        """Build what searches are quick by, unless another process does."""
        follower.catch_up(self.catalog, self._folder)

    def reembed(self, collection: str, progress: Callable[[int, int], None]) -> None:
        """Give a collection of another model this matcher's bags, from its display copies."""

        def embed(entries: Sequence[Entry]) -> Sequence[Entry]:
            return self._embed([_draft(entry) for entry in entries])

        reembedding.reembed(
            self.catalog, collection, embed=embed, progress=progress, **self._made_by()
        )

    def _made_by(self) -> dict[str, Any]:
        return {
            "fingerprint": self.matcher_checkpoint.fingerprint,
            "dimension": self.matcher.dimension,
            "score": self.matcher.score,
        }

    def index(self, collection: str) -> Index:
        """What a collection is searched with."""
        home = self.open(collection)
        with self._lock:
            token, index = self._indexes.get(home.name, ("", None))
            if index is not None and token == home.token:
                return index
            if index is not None:  # the collection was embedded anew
                index.close()
            folder, calibration = self._folder / follower.SEGMENTS, self.calibration
            index = Index(self.catalog, home, folder, calibration=calibration, device=self._device)
            if self._watcher is not None:
                index.start()
            self._indexes[home.name] = home.token, index
            return index

    def snapshot(self, collection: str) -> Snapshot:
        """What a search of a collection would look at now."""
        return self.index(collection).snapshot()

    def serve(self) -> None:
        """Follow what any process writes, in the background, until `close`.

        Every collection of this matcher can be searched when this returns.
        """
        self._watcher = Thread(target=self._watch, name="follower-watch", daemon=True)
        for one in self.catalog.collections():
            if one.fingerprint == self.matcher_checkpoint.fingerprint:
                self.index(one.name)
        self._watcher.start()

    def close(self) -> None:
        """Let go of everything."""
        self._stopped.set()
        if self._watcher is not None:
            self._watcher.join()
        for _, index in self._indexes.values():
            index.close()
        self.catalog.close()

    def _watch(self) -> None:
        """Start a follower as soon as there is enough to follow."""
        process: subprocess.Popen[bytes] | None = None
        while not self._stopped.wait(WATCH):
            with self._lock:
                waiting = [index.unpublished for _, index in self._indexes.values()]
            needed = any(count >= follower.Sizes().least for count in waiting)
            if needed and (process is None or process.poll() is not None):
                process = follower.start(self._folder)
        if process is not None:
            process.kill()
            process.wait()

    def _embed(self, drafts: Sequence[Draft]) -> list[Entry]:
        """Entries of drafts: all photos in one batch, all sentences in another."""
        photos = [draft.pixels for draft in drafts if draft.pixels is not None]
        texts = [text for draft in drafts for text in draft.sentences]
        photo_bags = iter(self.matcher.embed_images(photos) if photos else [])
        text_bags = iter(self.matcher.embed_sentences(texts) if texts else [])
        return [
            Entry(
                draft.id,
                draft.metadata,
                draft.picture,
                next(photo_bags) if draft.pixels is not None else None,
                draft.sentences,
                tuple(next(text_bags) for _ in draft.sentences),
                draft.source,
                draft.stamp,
            )
            for draft in drafts
        ]


def _draft(entry: Entry) -> Draft:
    """A stored item, to be embedded again from its display copy."""
    pixels = images.decode(entry.picture.jpeg).pixels if entry.picture else None
    return Draft(
        entry.id,
        entry.metadata,
        entry.picture,
        pixels,
        entry.sentences,
        entry.source,
        entry.stamp,
    )


def _found(text: str, phrase: str) -> Span:
    """Where a phrase first stands in a text, whatever its case; whole words before parts."""
    escaped = re.escape(phrase)
    for pattern in (rf"(?<!\w){escaped}(?!\w)", escaped):
        if found := re.search(pattern, text, re.IGNORECASE):
            break
    else:
        raise ValueError(f"phrases: {phrase!r:.100} is not in the text; copy it from there")
    return Span(found.start(), found.end())


def _cut(pixels: Tensor, part: Box) -> Tensor:
    """The part of a photo (3, height, width), at least one pixel wide and high."""
    height, width = pixels.shape[1:]
    left, top = int(part.left * width), int(part.top * height)
    right, bottom = (
        max(left + 1, round(part.right * width)),
        max(top + 1, round(part.bottom * height)),
    )
    return pixels[:, top:bottom, left:right]


def _within(part: Box, box: Box) -> Box:
    """A box of a part, in fractions of the whole."""
    width, height = part.right - part.left, part.bottom - part.top
    return Box(
        part.left + box.left * width,
        part.top + box.top * height,
        part.left + box.right * width,
        part.top + box.bottom * height,
    )
