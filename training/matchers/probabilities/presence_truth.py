"""Truth of presence: photos, names of things, and their presence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from models.registry import Matcher
from models.text.lexicon import IRREGULAR, is_function_word
from models.types import FragmentBag
from training.data.corpus import Example
from training.data.labels import labels_of
from training.evaluation.embedding import embed, embed_photos
from training.evaluation.true_answers import ParsedPhotos
from training.runs.progress import Progress

LEAST_SENTENCES = 3  # of a photo, which then lacks what none of them names
LEAST_LABELLED, LEAST_NAMED = 5, 50  # photos that have a label, and whose sentences have a noun


@dataclass(frozen=True, slots=True)
class PresenceTruth:
    """Photos, names of things, and their presence.

    Shapes: images are K bags (R_k, D), texts N bags, and shown (K, N) is 1 where a thing is there,
    0 where it is not and −1 where that is not known.
    """

    images: Sequence[Tensor]
    names: Sequence[str]
    texts: Sequence[FragmentBag]
    shown: Tensor

    def photos(self, positions: Sequence[int]) -> PresenceTruth:
        """Some of the photos."""
        chosen = list(positions)
        images = [self.images[k] for k in chosen]
        return replace(self, images=images, shown=self.shown[chosen])


def gather(
    matcher: Matcher,
    labelled: Sequence[Example],
    described: Sequence[Example],
    progress: Progress,
) -> PresenceTruth:
    """Embed labelled and described photos, and the names of their things.

    A label is known for labelled photos alone, a noun for photos with sentences: a photo shows it
    if one of them names it. Names are in the singular. ValueError without frequent labels.
    """
    examples = [*labelled, *described]
    counts = Counter(name for example in labelled for name in set(labels_of(example)))
    labels = sorted(name for name, count in counts.items() if count >= LEAST_LABELLED)
    if not labels:
        raise ValueError(f"no label is shared by {LEAST_LABELLED} photos: give more of them")
    named = list_nouns(examples)
    frequent = Counter(noun for nouns in named if nouns for noun in nouns)
    nouns = [
        noun
        for noun, count in sorted(frequent.items())
        if count >= LEAST_NAMED and noun not in labels
        if noun.isalpha() and not is_function_word(noun)
    ]
    images = [bag.vectors.half() for bag in embed_photos(matcher, examples, progress)]
    names = [*labels, *nouns]
    texts = embed(matcher.embed_sentences, names, progress, "names of things")
    known = [frozenset(labels_of(example)) for example in labelled]
    by_label = mark([*known, *[None] * len(described)], labels)
    return PresenceTruth(images, names, texts, torch.cat([by_label, mark(named, nouns)], 1))


def mark(named: Sequence[frozenset[str] | None], names: Sequence[str]) -> Tensor:
    """Whether photos have names, (K, N); −1 for unknown ones."""
    rows = [
        [-1] * len(names) if has is None else [int(name in has) for name in names] for has in named
    ]
    return torch.tensor(rows, dtype=torch.int8).reshape(len(named), len(names))


def list_nouns(examples: Sequence[Example]) -> list[frozenset[str] | None]:
    """The nouns of each photo's sentences; None for photos with few."""
    nouns = ParsedPhotos.of(examples).list_nouns()
    return [
        frozenset(IRREGULAR.get(noun, noun) for noun in photo_nouns)
        if len(example.sentences) >= LEAST_SENTENCES
        else None
        for example, photo_nouns in zip(examples, nouns, strict=True)
    ]
