"""Words of photos' names, places and descriptions.

    log odds(it is right) = log odds(it looks right) + NAMED / W · Σ_w x_w (k + 1) / (x_w + k)

Of the W content words of a text, x_w is the BM25F frequency of a word in the item's fields
(index.documents.bm25): its term is 1 for a word that a field of mean length has once, and no more
than that counts. So a photo that has all words somewhere gains NAMED, as log odds. A colour counts
only where the word behind it is named, too: the title "Oranges" says nothing of an orange flower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from index.documents.bm25 import SATURATION
from index.documents.corrections import UNCORRECTED
from index.documents.documents import Documents
from index.documents.languages.english import ENGLISH
from index.documents.postings import Floats
from index.documents.query_words import QueryWord
from index.documents.words import read_words
from index.photos.visible_text import TEXT, WordPlace, find_places
from index.search.requests import WordGains
from models.text.lexicon import plain
from models.text.negation import negations
from models.text.parsing import parse
from models.text.reading import blank

NAMED = 6.0
# The fields that count, and their weights. Not the camera: all of a phone would be apples.
FIELDS: Mapping[str, float] = {
    **dict.fromkeys(("title", "keywords", "people", "city", "region", "country"), 1.0),
    **dict.fromkeys(("folder", "file", TEXT), 1.0),
    "description": 0.5,
}
# Words that say nothing of a photo: articles, and by which phones, cameras and people name all
# folders and files.
EMPTY = frozenset(
    {
        *("a", "an", "the"),
        *("image", "images", "photo", "photos", "picture", "pictures", "jpg", "jpeg"),
        *("camera", "dcim", "download", "downloads", "roll", "upload", "uploads"),
    }
)
# The basic terms for colours (Berlin & Kay 1969).
COLOURS = frozenset(
    {
        *("black", "white", "red", "green", "yellow", "blue"),
        *("brown", "purple", "pink", "orange", "grey", "gray"),
    }
)
# Words that say nothing of a photo next to a date: "all my photos taken in 2019".
OF_ALL = frozenset(
    {
        *("image", "images", "photo", "photos", "picture", "pictures", "made", "shot", "taken"),
        *("all", "any", "some", "the", "my", "our", "of", "from", "in", "on", "me", "show", "were"),
    }
)


def says_nothing(text: str) -> bool:
    """Return whether a text without its dates says nothing of photos: "my photos taken".

    >>> says_nothing("all my photos "), says_nothing("dogs ")
    (True, False)
    """
    tokens = (token.folded for word in read_words(text, ENGLISH) for token in word.tokens)
    return OF_ALL.issuperset(tokens)


@dataclass(frozen=True, slots=True)
class WordPart:
    """A word's share of a score by a field."""

    word: str
    field: str
    gave: float


class PhotoWords:
    """The words of a text in the items of a collection.

    Spans of words point into `text`.
    """

    def __init__(self, text: str, documents: Documents, token: str) -> None:
        """Look the words of a text up; `token` is the collection's."""
        self.text, self._documents, self._token = text, documents, token
        self._words = list[QueryWord]()
        with documents.lock:
            named = FIELDS.keys() & documents.lexical.mean_lengths().keys()
        if named:  # else no item has words
            words = documents.wording().read(leave_out_negated(text), UNCORRECTED)
            self._words = [word for word in words if not self._is_empty(self.cut(word))]
        with documents.lock:
            self.behind = documents.behind
            self._shares = self._weigh(self._words)  # (W, N)

    def cut(self, word: QueryWord) -> str:
        """Cut a word out of the text, as it was typed."""
        return self.text[word.start : word.end]

    def _is_empty(self, word: str) -> bool:
        """Return whether a word names no photo, such as the French letter "à"."""
        language = self._documents.language
        folded = language.fold(word)
        return plain(word) in EMPTY or (len(folded) == 1 and language.is_function_word(folded))

    def _weigh(self, words: Sequence[QueryWord]) -> Floats:
        """The share of each word (W, N) in each document.

        It is 1 for a word in a field of mean length.
        """
        lexical = self._documents.lexical
        gains = lexical.scores([word.alternatives for word in words], self._weights).gains
        most = [max(lexical.idfs(word.alternatives), default=0.0) or 1.0 for word in words]
        frequent = (SATURATION + 1) * gains / np.array(most, np.float32).reshape(-1, 1)
        shares: Floats = np.minimum(frequent, 1).astype(np.float32)
        for number in reversed(range(len(words) - 1)):  # of "red orange dress" the last one first
            if self._qualifies(words[number], words[number + 1]):
                shares[number, shares[number + 1] == 0] = 0
        return shares

    def _qualifies(self, word: QueryWord, following: QueryWord) -> bool:
        """Return whether a word is the colour of the following one."""
        adjacent = self.text[word.end : following.start].isspace()
        return adjacent and self.cut(word).lower() in COLOURS

    @cached_property
    def _weights(self) -> dict[str, float]:
        return {name: FIELDS.get(name, 0.0) for name in self._documents.lexical.mean_lengths()}

    @property
    def named(self) -> list[str]:
        """The words of any item."""
        return [
            self.cut(word)
            for word, shares in zip(self._words, self._shares, strict=True)
            if shares.any()
        ]

    @cached_property
    def gains(self) -> WordGains | None:
        """The gains of photos in log odds; None without any."""
        if not self._words:
            return None
        log_odds = np.float32(NAMED / len(self._words)) * self._shares.sum(axis=0)
        documents = self._documents
        with documents.lock:
            size = len(log_odds)
            having = np.flatnonzero((log_odds > 0) & documents.live[:size])
            revisions = documents.revisions[having]
        return WordGains(self._token, revisions, log_odds[having]) if len(having) else None

    def split(self, revision: int, given: float) -> list[WordPart]:
        """Split the part of an item's words in a score."""
        documents, parts = self._documents, list[WordPart]()
        with documents.lock:
            place = int(np.searchsorted(documents.revisions, revision))
            for word, shares in zip(self._words, self._shares, strict=True):
                parts += [
                    WordPart(self.cut(word), field, float(shares[place]) * part)
                    for field, part in self._divide(word, place).items()
                ]
        whole = sum(part.gave for part in parts)
        return [WordPart(part.word, part.field, given * part.gave / whole) for part in parts]

    def find_places(self, part: WordPart, metadata: Mapping[str, Any]) -> list[WordPlace]:
        """Find the places of a part's word in an item's photos."""
        if part.field != TEXT:
            return []
        same = (word.alternatives for word in self._words if self.cut(word) == part.word)
        return find_places(metadata, chain.from_iterable(same), self._documents.language)

    def _divide(self, word: QueryWord, place: int) -> dict[str, float]:
        """The shares of fields in a word of a document."""
        shares = self._documents.lexical.shares(np.array([place]), word.alternatives, self._weights)
        gains = {field: float(gain[0]) for field, gain in shares.items() if gain[0] > 0}
        whole = sum(gains.values())
        return {field: gain / whole for field, gain in gains.items()}


def leave_out_negated(text: str) -> str:
    """Replace the negated words of a text by blanks."""
    sentence = parse(text)
    negated = frozenset().union(*(phrase.words for phrase in negations(sentence)))
    return blank(text, [sentence.words[number].span for number in sorted(negated)])
