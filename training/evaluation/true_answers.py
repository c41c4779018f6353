"""True answers to a text: photos with all its nouns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from models.text.parsing import parse_trees
from models.types import ParsedSentence
from training.data.corpus import Example

MODIFIERS = ("amod", "compound", "nummod")  # relations of a noun's modifiers in short texts
MOST_MODIFIERS = 2
SENTENCES, SHORT = 2, 4  # texts of each photo


@dataclass(frozen=True, slots=True)
class AskedText:
    """A text as people type it, its nouns and photo.

    `short` texts have one to three words. `photo` is None for a text about no photo of the split.
    """

    text: str
    nouns: frozenset[str]
    short: bool
    photo: int | None


@dataclass(frozen=True, slots=True)
class ParsedPhotos:
    """Photos and the parses of their sentences."""

    examples: tuple[Example, ...]
    trees: tuple[tuple[ParsedSentence, ...], ...]

    @classmethod
    def of(cls, examples: Sequence[Example]) -> ParsedPhotos:
        """Parse the sentences of some photos."""
        trees = iter(parse_trees([text for example in examples for text in example.sentences]))
        grouped = tuple(tuple(next(trees) for _ in example.sentences) for example in examples)
        return cls(tuple(examples), grouped)

    def __len__(self) -> int:
        return len(self.examples)

    def select(self, positions: Sequence[int]) -> ParsedPhotos:
        """Some of the photos."""
        return ParsedPhotos(
            tuple(self.examples[i] for i in positions), tuple(self.trees[i] for i in positions)
        )

    def list_nouns(self) -> list[frozenset[str]]:
        """List the nouns of each photo's sentences together."""
        return [frozenset().union(*map(find_nouns, trees)) for trees in self.trees]


def find_nouns(tree: ParsedSentence) -> frozenset[str]:
    """The lemmas of a sentence's nouns."""
    return frozenset(word.lemma.lower() for word in tree.words if word.tag.startswith("NN"))


def draw_texts(photos: ParsedPhotos, random: Random) -> list[AskedText]:
    """Draw texts of every photo: sentences, and short ones.

    A text of several photos comes once: otherwise a few frequent nouns would be most of all.
    """
    sampled: list[AskedText] = []
    for photo, trees in enumerate(photos.trees):
        sentences = random.sample(trees, min(SENTENCES, len(trees)))
        sampled += [AskedText(tree.text, find_nouns(tree), False, photo) for tree in sentences]
        places = [(tree, i) for tree in trees for i in find_heads(tree)]
        for tree, head in random.sample(places, min(SHORT, len(places))):
            sampled.append(shorten(tree, head, random.randint(0, MOST_MODIFIERS), photo))
    return list({text.text: text for text in reversed(sampled) if text.nouns}.values())


def find_heads(tree: ParsedSentence) -> list[int]:
    """Find a sentence's nouns outside other nouns."""
    return [
        i
        for i, word in enumerate(tree.words)
        if word.tag.startswith("NN") and word.relation != "compound"
    ]


def shorten(tree: ParsedSentence, head: int, modifiers: int, photo: int) -> AskedText:
    """A noun with its nearest modifiers, at most so many."""
    before = [
        i
        for i, word in enumerate(tree.words[:head])
        if word.head == head and word.relation in MODIFIERS
    ]
    words = [tree.words[i] for i in [*before[len(before) - min(modifiers, len(before)) :], head]]
    noun_lemmas = [word.lemma.lower() for word in words if word.tag.startswith("NN")]
    return AskedText(
        " ".join(word.text.lower() for word in words), frozenset(noun_lemmas), True, photo
    )


def find_answers(
    named: Sequence[frozenset[str]], queries: Sequence[AskedText]
) -> NDArray[np.bool_]:
    """Find the photos (K, L) with each text's answer, and its own."""
    columns = {
        noun: np.array([noun in photo_nouns for photo_nouns in named])
        for noun in frozenset().union(*(text.nouns for text in queries))
    }
    truth = np.ones((len(named), len(queries)), np.bool_)
    for position, text in enumerate(queries):
        for noun in text.nouns:
            truth[:, position] &= columns[noun]
        if text.photo is not None:
            truth[text.photo, position] = True
    return truth


def find_alike(photos: ParsedPhotos) -> NDArray[np.bool_]:
    """Find the photos (K, K) with answers to others' sentences."""
    named = photos.list_nouns()
    truth = np.zeros((len(photos), len(photos)), np.bool_)
    for position, trees in enumerate(photos.trees):
        sentences = [AskedText(tree.text, find_nouns(tree), False, position) for tree in trees]
        truth[:, position] = find_answers(named, sentences).any(axis=1)
    return truth
