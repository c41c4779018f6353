"""A matcher: an image tower, a text tower and a score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from models import registry
from models.scores.correlation import Correlated, Correlation, correlate
from models.scores.distances import LENGTHENED, lengthen_images, lengthen_sentences
from models.scores.offsets import WEIGHTS, Offsets
from models.scores.scoring import SCORES
from models.scores.terms import CatalogueTerms
from models.towers import ImageTower, Sight, TextTower
from models.types import WHOLE_PHOTO, Box, FragmentBag, PaddedBags, plan_passes
from models.vision.regions import BATCH

SENTENCES = 64  # sentences in one pass
SQUARED = SENTENCES * 160**2  # characters: captions go together, and MOST_WORDS go alone


@dataclass(frozen=True, slots=True)
class TowerOptions:
    """A tower by its name in the registry, and its Config."""

    name: str
    options: Any

    @classmethod
    def of(cls, kind: str, name: str, options: Mapping[str, Any]) -> TowerOptions:
        """A tower's name and options.

        LookupError for an unknown tower, TypeError for an unknown option.
        """
        values = {key: to_tuples(value) for key, value in options.items()}
        return cls(name, registry.find(kind, name).Config(**values))


@dataclass(frozen=True, slots=True)
class Config:
    """Both towers, and the name of a score in models.scores.scoring.SCORES.

    `euclidean` lengthens both towers' vectors: products become negative squared distances. With
    `correlation` both towers' directions are solved for. `references` is the number of train's
    photos to compare sentences with, see models.scores.offsets; 0 leaves them out.
    `reference_sentences` is the number of texts to compare photos with, and `offset_weights` are
    the weights of sentences' and photos' offsets, None for the usual ones. `terms` are a
    catalogue's, each in all its forms, see models.scores.terms. `image`, `text` and `correlation`
    may be plain values, as in a checkpoint.
    """

    image: TowerOptions
    text: TowerOptions
    score: str = "sum_of_max"
    euclidean: bool = False
    correlation: Correlation | None = None
    references: int = 0
    reference_sentences: int = 0
    offset_weights: tuple[float, float] | None = None
    terms: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        makers: dict[str, Callable[..., Any]] = {
            "image": partial(TowerOptions.of, "image_towers"),
            "text": partial(TowerOptions.of, "text_towers"),
            "correlation": Correlation,
        }
        object.__setattr__(self, "terms", to_tuples(self.terms))
        if self.offset_weights is not None:
            object.__setattr__(self, "offset_weights", tuple(map(float, self.offset_weights)))
        for field, make in makers.items():
            if isinstance(plain := getattr(self, field), Mapping):
                object.__setattr__(self, field, make(**plain))
        if self.reference_sentences and not self.references:
            raise ValueError(
                f"reference_sentences is {self.reference_sentences} and references 0: give both"
            )
        weights = self.offset_weights
        if weights is not None and (len(weights) != 2 or not all(w >= 0 for w in weights)):
            raise ValueError(
                f"offset_weights is {list(weights)}: give two numbers from 0, for sentences and "
                "for photos"
            )
        if weights is not None and not self.references:
            raise ValueError("offset_weights are of matchers with references: give both")
        if self.score not in SCORES:
            raise ValueError(f"no score {self.score!r}; there are: {', '.join(SCORES)}")

    @property
    def towers(self) -> str:
        """The names of both towers."""
        return f"{self.image.name} + {self.text.name}"


class TwoTowerMatcher(nn.Module):
    """Photos and sentences in one space, as bags of fragments; a registry.Matcher.

    The frozen part (`image_inputs`, `sentence_inputs`) is computed once and cached while
    training; the trained part (`encode_images`, `encode_sentences`) is differentiable.
    Parameters outside training have requires_grad = False.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config, self.score = config, config.score
        self.image: ImageTower = build_tower("image_towers", config.image)
        self.text: TextTower = build_tower("text_towers", config.text)
        self.any_word = self.text.reader.any_word  # whether it knows all words, in any script
        if config.correlation and not all(isinstance(x, Correlated) for x in self.children()):
            raise ValueError(f"towers {config.towers} have no views to correlate: use correlated")
        if self.image.dimension != self.text.dimension:
            raise ValueError(
                f"image tower {config.image.name} makes vectors of {self.image.dimension} numbers, "
                f"text tower {config.text.name} of {self.text.dimension}: give both the same size"
            )
        size = self.image.dimension + (LENGTHENED if config.euclidean else 0)
        counts = config.references, config.reference_sentences
        weights = config.offset_weights or WEIGHTS
        self.offsets = Offsets(*counts, size, weights) if config.references else None
        added = self.offsets.numbers_added if self.offsets else 0
        self.general = size + added  # numbers without those of terms
        self.terms = (
            CatalogueTerms(config.terms, self.image.whole_features, self.general)
            if config.terms
            else None
        )
        self.dimension = self.general + (self.terms.numbers_added if self.terms else 0)

    @property
    def sight(self) -> Sight:
        """The frozen part of the image tower."""
        return self.image.sight

    @property
    def tuned(self) -> bool:
        """Return whether image_inputs has trained parameters, so its outputs are not cached."""
        return self.image.sight.tuned

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.parameters()).device

    def image_inputs(self, images: Sequence[Tensor]) -> list[Tensor]:
        """The frozen part (F, C) of each uint8 photo (3, H, W)."""
        inputs: list[Tensor] = self.image.sight(images)[0]
        return inputs

    def image_key(self) -> str:
        """Changes whenever image_inputs would."""
        return self.image.sight.key()

    def sentence_inputs(self, texts: Sequence[str]) -> list[Tensor]:
        """The frozen part (T, C) of each text: vectors, or whole numbers for words."""
        inputs: list[Tensor] = self.text.reader(texts)[0]
        return inputs

    def sentence_key(self) -> str:
        """Changes whenever sentence_inputs would."""
        return self.text.reader.key()

    def begin(self) -> None:
        """Take known initial weights, before training."""
        self.image.begin()
        self.text.begin()

    def prepare(
        self, images: Sequence[Tensor], sentences: Sequence[Tensor], owners: Sequence[int]
    ) -> None:
        """Measure the frozen inputs of train, sentences[l] of images[owners[l]].

        Called once, before training and not on resuming.
        """
        self.begin()
        self.image.prepare(images)
        self.text.prepare(sentences, owners)
        if self.config.correlation:
            image, text = cast(Correlated, self.image), cast(Correlated, self.text)
            correlate(image, text, images, sentences, owners, self.config.correlation)

    def encode_images(self, inputs: PaddedBags, *, precomputed: bool = False) -> PaddedBags:
        """The trained part: fragments (K, R, D) of inputs (K, F, C).

        `precomputed`: the inputs went through the image tower's `precompute` already.
        """
        inputs = inputs.to(self.device)
        bags: PaddedBags = self.image(inputs if precomputed else self.image.precompute(inputs))
        bags = lengthen_images(bags) if self.config.euclidean else bags
        return self.offsets.images(bags) if self.offsets else bags

    def encode_sentences(self, inputs: PaddedBags, *, precomputed: bool = False) -> PaddedBags:
        """The trained part: fragments (L, F, D) of inputs (L, T, C).

        `precomputed`: the inputs went through the text tower's `precompute` already.
        """
        inputs = inputs.to(self.device)
        bags: PaddedBags = self.text(inputs if precomputed else self.text.precompute(inputs))
        return self.finish_sentences(bags)

    def finish_sentences(self, bags: PaddedBags) -> PaddedBags:
        """Fragments (L, F, D) of the text tower's bags."""
        bags = lengthen_sentences(bags) if self.config.euclidean else bags
        return self.offsets.sentences(bags) if self.offsets else bags

    def image_bags(self, inputs: PaddedBags) -> PaddedBags:
        """Fragments (K, R, D) of inputs (K, F, C), with a catalogue's terms if any."""
        bags = self.encode_images(inputs)
        if not self.terms:
            return bags
        return self.terms.images(bags, self.image.whole(inputs.to(self.device)))

    def sentence_bags(self, inputs: PaddedBags, words: Sequence[Sequence[str]]) -> PaddedBags:
        """Fragments (L, F, D) of inputs (L, T, C), with the terms in their words."""
        bags = self.encode_sentences(inputs)
        return self.terms.sentences(bags, words) if self.terms else bags

    def refer(self, photos: Tensor) -> None:
        """Take reference photos, the first fragments (N, D) of encoded photos of train."""
        if self.offsets:
            self.offsets.refer(photos[:, : self.offsets.references.shape[1]])

    def refer_sentences(self, sums: Tensor) -> None:
        """Take reference sentences, the sums (M, D) of their encoded fragments, after photos."""
        if self.offsets:
            self.offsets.refer_sentences(sums[:, : self.offsets.sentence_references.shape[1]])

    @torch.inference_mode()
    def embed_images(self, images: Sequence[Tensor]) -> list[FragmentBag]:
        """Bags of uint8 RGB photos of any sizes, each (3, height, width)."""
        bags: list[FragmentBag] = []
        for at in range(0, len(images), BATCH):
            bags += self.embed_inputs(*self.sight(images[at : at + BATCH]))
        return bags

    @torch.inference_mode()
    def embed_inputs(self, inputs: Sequence[Tensor], boxes: Sequence[Tensor]) -> list[FragmentBag]:
        """Bags of photos from the outputs of `sight`: inputs (F, C) and boxes (R, 4)."""
        vectors = unpad(self.image_bags(PaddedBags.of(inputs)))
        return [
            FragmentBag(
                bag,
                tuple(Box(*box) for box in photo_boxes.tolist()),
                region_labels(photo_boxes, self.image.whole_first),
                self.dimension - self.general,
            )
            for bag, photo_boxes in zip(vectors, boxes, strict=True)
        ]

    @torch.inference_mode()
    def embed_sentences(self, texts: Sequence[str]) -> list[FragmentBag]:
        """Bags of sentences; ValueError for no words or too many."""
        bags: dict[int, FragmentBag] = {}
        lengths = [sum(map(len, text.split())) for text in texts]
        for batch in plan_passes(lengths, SENTENCES, SQUARED):
            inputs, places = self.text.reader([texts[at] for at in batch])
            labels = [tuple(label for label, _ in sentence_places) for sentence_places in places]
            spans = [tuple(span for _, span in sentence_places) for sentence_places in places]
            vectors = unpad(self.sentence_bags(PaddedBags.of(inputs), labels))
            for number, at in enumerate(batch):
                bag = vectors[number], spans[number], labels[number]
                bags[at] = FragmentBag(*bag, self.dimension - self.general)
        return [bags[at] for at in range(len(texts))]


Model = TwoTowerMatcher  # the name in the registry


def build_tower(kind: str, part: TowerOptions) -> Any:
    """A tower of its name and options."""
    return registry.find(kind, part.name).Model(part.options)


def to_tuples(value: Any) -> Any:
    """Lists of TOML and JSON as tuples, for a frozen Config."""
    return tuple(to_tuples(item) for item in value) if isinstance(value, list | tuple) else value


def unpad(bags: PaddedBags) -> list[Tensor]:
    """The real fragments (F, D) of each bag, single precision, in main memory."""
    return [
        vectors[real].float().cpu() for vectors, real in zip(bags.vectors, bags.mask, strict=True)
    ]


def region_labels(boxes: Tensor, whole_first: bool = True) -> tuple[str, ...]:
    """The label of each region; the first may be the whole photo."""
    labels = tuple(f"region {i}" for i in range(len(boxes)))
    return (WHOLE_PHOTO, *labels[1:]) if whole_first else labels
