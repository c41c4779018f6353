"""Persons and animals in captions of photos without sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.text.parsing import parse_trees
from training.evaluation.captions.hallucination import find_nouns, share
from training.evaluation.captions.measure import GeneratedCaption
from training.evaluation.captions.wordnet import PERSONS, WordNet


@dataclass(frozen=True, slots=True)
class Naming:
    """Percentages over captions, the captions by photo id, and ids of guesses.

    persons, animals: captions that name one. sure: captions that are no guesses, None without a
    calibrated matcher. sure_persons: captions that are no guesses and name a person.
    """

    persons: float
    animals: float
    sure: float | None
    sure_persons: float | None
    captions: dict[str, str]
    guesses: tuple[str, ...] = ()


def naming(captions: Sequence[GeneratedCaption], ids: Sequence[str], wordnet: WordNet) -> Naming:
    """Measure the names in captions; ValueError without captions.

    For photos known to show no person, `persons` is the share of captions that invent one.
    """
    if not captions:
        raise ValueError("no captions to measure")
    names = [
        [noun.name for noun in find_nouns(tree, wordnet)]
        for tree in parse_trees([caption.text for caption in captions])
    ]
    persons, animals = (
        [any(wordnet.is_a(name, terms) for name in caption_names) for caption_names in names]
        for terms in (PERSONS, ("animal",))
    )
    sure = [not caption.unsure for caption in captions if caption.unsure is not None]
    sure_persons = [
        is_sure and has_person for is_sure, has_person in zip(sure, persons, strict=bool(sure))
    ]
    return Naming(
        persons=share(sum(persons), len(captions)) or 0.0,
        animals=share(sum(animals), len(captions)) or 0.0,
        sure=share(sum(sure), len(sure)),
        sure_persons=share(sum(sure_persons), len(sure)),
        captions=dict(zip(ids, (caption.text for caption in captions), strict=True)),
        guesses=tuple(
            photo for photo, caption in zip(ids, captions, strict=True) if caption.unsure
        ),
    )
