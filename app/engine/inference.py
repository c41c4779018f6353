"""Inference: what the loaded models say of photos and texts, by no stored item."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

import torch

from app.settings import Settings
from app.telemetry.requests import stage
from index.bags import as_stored
from models import checkpoint
from models.checkpoint import Checkpoint, DeferredCheckpoint
from models.header import UnfitModel
from models.registry import Captioner, Grounder, Matcher
from models.scores import alignment
from models.scores.presence import Presence
from models.text import parsing, query_drafts, reading
from models.text.queries import Query
from models.text.query_drafts import Reader
from models.text.spelling import vocabulary
from models.text.words import quicken
from models.threads import count_cores
from models.types import Box, FragmentBag, Link
from models.vision import backbones, images
from models.vision.images import Photo
from models.vision.sight import Look, share_sight

log = logging.getLogger("tessera")

REMEMBERED = 500  # queries, of up to 50 KB each
REMEMBERED_LENGTH = 100  # characters: what is longer is hardly asked twice


Loadable = Checkpoint | DeferredCheckpoint
Asked = str | Iterable[tuple[str, float]]  # a text, or phrases with weights


def open_optional(name: str, path: Path | None, device: str) -> DeferredCheckpoint | None:
    """Open a checkpoint where there is one; a missing file not called none is warned of."""
    if path is not None and path.is_file():
        return DeferredCheckpoint(path, device)
    if path is not None and path.name != "none":
        spoken, setting = name.replace("_", " "), f"TESSERA_{name.upper()}"
        log.warning("there is no %s: %s names no file, %s", spoken, setting, path)
    return None


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


class Models:
    """The loaded matcher, and captioners and a grounder where there are; for many threads.

    All but the matcher are loaded when they are first asked for.
    """

    def __init__(
        self,
        matcher: Checkpoint,
        captioner: Loadable | None = None,
        grounder: Loadable | None = None,
        region_captioner: Loadable | None = None,
    ) -> None:
        self.checkpoints: dict[str, Loadable | None] = {
            "matcher": matcher,
            "captioner": captioner,
            "region_captioner": region_captioner,
            "grounder": grounder,
        }
        self.fingerprint, self.name = matcher.fingerprint, matcher.name
        self.matcher: Matcher = matcher.model
        self._sharing = Lock()
        self._captioners: list[Captioner] = []  # with the matcher's sight where it is equal
        if region_captioner and not region_captioner.of_regions:
            raise ValueError(
                f"the captioner {region_captioner.name} describes whole photos alone: set "
                "TESSERA_REGION_CAPTIONER to one that was trained with the preset regions"
            )
        self.calibration = matcher.calibration
        self.words = matcher.calibration.words if matcher.calibration else frozenset[str]()
        # The probability below which a hit counts as weak; None without a calibration.
        self.weak_below = matcher.calibration.weak_below if matcher.calibration else None
        captions = captioner.captions if captioner else None
        # Measured with another matcher it says nothing.
        self.calibrated = captions if captions and captions.matcher == matcher.fingerprint else None
        # The next page of an answer, and what many people type, is embedded once.
        self._embed = partial(query_drafts.of_several, self.matcher, known=self.words)
        self._remembered = lru_cache(maxsize=REMEMBERED)(self._embed)

    @classmethod
    def of(cls, settings: Settings) -> Models:
        """Load the models and the parser that the settings name."""
        if settings.parser:
            parsing.choose(settings.parser)
        torch.set_num_threads(settings.threads or min(torch.get_num_threads(), count_cores()))
        backbones.choose_inference(settings.inference if settings.device == "cpu" else "torch")
        return cls.load(
            settings.matcher,
            settings.captioner,
            settings.grounder,
            settings.region_captioner,
            device=settings.device,
        )

    @classmethod
    def load(
        cls,
        matcher: Path,
        captioner: Path | None = None,
        grounder: Path | None = None,
        region_captioner: Path | None = None,
        *,
        device: str = "cpu",
    ) -> Models:
        """Load checkpoints; only the matcher must be there."""
        chosen = {
            "captioner": captioner,
            "grounder": grounder,
            "region_captioner": region_captioner,
        }
        optional = {name: open_optional(name, path, device) for name, path in chosen.items()}
        loaded = checkpoint.load(matcher, device)
        # At once: the same text has the same vectors in all processes, at any time.
        quicken(loaded.model)
        return cls(loaded, **optional)

    @cached_property
    def captioner(self) -> Captioner | None:
        """The captioner of photos, if there is one."""
        return self._load_captioner("captioner")

    @cached_property
    def region_captioner(self) -> Captioner | None:
        """The captioner of regions, if there is one."""
        return self._load_captioner("region_captioner")

    @cached_property
    def grounder(self) -> Grounder | None:
        """The grounder, if there is one."""
        grounder: Grounder | None = self._load_model("grounder")
        return grounder

    def _load_captioner(self, name: str) -> Captioner | None:
        captioner: Captioner | None = self._load_model(name)
        with self._sharing:
            if captioner is not None and captioner not in self._captioners:
                share_sight(self.matcher.sight, *self._captioners, captioner)
                self._captioners.append(captioner)
        return captioner

    def _load_model(self, name: str) -> Any:
        chosen = self.checkpoints[name]
        try:
            return chosen and chosen.model
        except ValueError as unfit:  # no mistake of the caller who asks first
            raise UnfitModel(f"the {name.replace('_', ' ')} cannot be loaded: {unfit}") from unfit

    def warm_up(self) -> None:
        """Load what the first query would wait for: spaCy, words, and the pages of weights."""
        try:
            vocabulary()
            self.matcher.embed_sentences(["a photo"])
        except ValueError:
            pass  # it may know neither word
        except Exception as failed:  # noqa: BLE001 - searches go on, and say what is wrong
            log.warning("the first search may take longer: %s", failed)

    @property
    def makes(self) -> dict[str, Any]:
        """The properties of the matcher's bags that the catalog stores."""
        return {
            "fingerprint": self.fingerprint,
            "dimension": self.matcher.dimension,
            "score": self.matcher.score,
        }

    @property
    def unsure_below(self) -> float | None:
        """The probability below which a caption is a guess; None if unknown."""
        return self.calibrated.unsure_below if self.calibrated else self.weak_below

    def query(
        self, asked: Asked, *, of_photos: bool = False, whole: bool = False, spelling: bool = False
    ) -> Query:
        """Read and embed a text, or phrases with weights: scores are weighted sums of theirs.

        `of_photos`: photos are asked whether things are there, or are not, where the matcher's
        presence is calibrated. `whole`: a text is embedded as sentences are when they are stored,
        to be compared with these. `spelling`: words that the model does not know are corrected.
        ValueError for a text without words, or with too many.
        """
        phrases = ((asked, 1.0),) if isinstance(asked, str) else tuple(asked)
        long = sum(len(text) for text, _ in phrases) > REMEMBERED_LENGTH
        embed = self._embed if long else self._remembered
        judge = self.presence if of_photos else None
        with stage("embed_text"):
            return embed((phrases,), judge=judge, reader=Reader(whole, spelling))[0]

    @property
    def presence(self) -> Presence | None:
        """What says whether a photo shows a thing; None if that was not calibrated."""
        return self.calibration.presence if self.calibration else None

    def notes(self, text: str) -> tuple[str, ...]:
        """Notes about the words and symbols of a text that the model does not read."""
        return () if self.matcher.any_word else tuple(reading.left_out_of(text, self.words))

    def photo(self, photo: Photo, part: Box | None = None) -> FragmentBag:
        """Embed a photo, or a part of it; boxes are in fractions of the whole."""
        bag = self.bag(Look(photo.pixels if part is None else images.crop(photo.pixels, part)))
        if part is None:
            return bag
        boxes = tuple(part.whole(box) for box in bag.places if isinstance(box, Box))
        return replace(bag, places=boxes)

    def bag(self, look: Look) -> FragmentBag:
        """Embed a photo."""
        with stage("embed_photo"):
            inputs, boxes = look.by(self.matcher.sight)
            # Uploads score as items do.
            return as_stored(self.matcher.embed_inputs([inputs], [boxes])[0])

    def probability(self, image: FragmentBag, query: Query, given: float = 0.0) -> float | None:
        """The probability that a photo answers a query; None without a calibration.

        `given` is what the words of the photo's item give to the score. Of these alone, it is not
        known.
        """
        if self.calibration is None or (given and not query.parts):
            return None
        return self.calibration.of_pair(image, query, self.matcher.score, given)

    def align(self, image: FragmentBag, query: Query, *, beta: float) -> Alignment:
        """Explain one pair; a larger `beta` (0 or more) makes longer phrases."""
        links = alignment.query_links(image, query, self.matcher.score)
        phrases = alignment.phrases(image, query, links, beta)
        return Alignment(image, query, links, phrases)
