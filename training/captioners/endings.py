"""Endings of captions: words such as "a" and "in" are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from models.captions.captioning import LanguageCaptioner
from models.checkpoint import Checkpoint
from models.registry import find
from models.text.parsing import parse_trees
from models.types import ParsedSentence
from training.data.corpus import Example

WAITING = 0.95  # of a word's occurrences stand before the word that they belong to
LEAST_COUNT = 5  # occurrences of a word, at least
# Universal Dependencies of words that stand before a noun, a verb or a clause for its sake.
RELATIONS = frozenset(
    ("amod", "aux", "aux:pass", "case", "cc", "cop", "det", "mark", "nmod:poss", "nummod")
)


def with_endings(loaded: Checkpoint, examples: Sequence[Example]) -> LanguageCaptioner:
    """Copy a checkpoint's captioner without unfinished words at captions' ends.

    The words are measured on sentences of train. ValueError for another kind of model.
    """
    if loaded.kind != "captioners":
        raise ValueError(f"only captioners write captions; this is one of the {loaded.kind}")
    trained: Any = loaded.model
    trees = parse_trees([text for example in examples for text in example.sentences])
    words = unfinished(trees, trained.config.words)
    model: LanguageCaptioner = find("captioners", loaded.name).Model(
        replace(trained.config, unfinished=words)
    )
    model.load_state_dict(trained.state_dict())
    return model.eval()


def unfinished(trees: Iterable[ParsedSentence], words: Sequence[str]) -> tuple[str, ...]:
    """List words with a head after them in most sentences.

    >>> trees = parse_trees(["A large dog runs in the grass ."]) * 5
    >>> unfinished(trees, ("a", "dog", "in", "large"))
    ('a', 'in', 'large')
    """
    occurrences, waiting = Counter[str](), Counter[str]()
    for tree in trees:
        for at, word in enumerate(tree.words):
            name = word.text.lower()
            occurrences[name] += 1
            waiting[name] += word.relation in RELATIONS and word.head > at
    return tuple(
        word
        for word in words
        if occurrences[word] >= LEAST_COUNT and waiting[word] >= WAITING * occurrences[word]
    )
