"""Queries: what is searched with, what is negated, and which words no model knows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import torch

from models.registry import Matcher
from models.text.lexicon import is_function_word, is_known, is_latin, plain
from models.text.limits import refuse_many
from models.text.negation import Negated, negations
from models.text.parsing import parse
from models.types import FragmentBag, Span, Word

# What a negated phrase takes from the score, as a share of what it would give if it were asked for.
# Measured by benchmarks/models/negation.py, see docs/decisions/0007-negation-by-rules.md.
NEGATED = 0.5
MOST_PARTS = 100  # of a query: each is searched, and explained, by itself
LETTER = re.compile(r"\w")
NOTHING_KNOWN = "No word of the query is known, so there is nothing to search for."


@dataclass(frozen=True, slots=True)
class Query:
    """S = Σ_p w_p S_p: the weighted sum of the scores of a query's parts.

    A photo is one part, and so is a plain text. A negated phrase is a part with a weight below 0;
    see `floored`. A text of which no word is known has no part. Spans point into `text`; `notes`
    say what a person should know about the query.
    """

    parts: tuple[FragmentBag, ...]
    weights: tuple[float, ...]
    text: str | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert len(self.parts) == len(self.weights)

    @classmethod
    def of(cls, bag: FragmentBag, notes: tuple[str, ...] = ()) -> Query:
        """One bag as a query."""
        return cls((bag,), (1.0,), None, notes)

    def with_photo(self, photo: FragmentBag, weight: float, notes: tuple[str, ...] = ()) -> Query:
        """The text and a photo in one query; a negative weight excludes its likes."""
        combined = tuple(note for note in self.notes if note != NOTHING_KNOWN) + notes
        return Query((*self.parts, photo), (*self.weights, weight), self.text, combined)

    @property
    def floored(self) -> tuple[bool, ...]:
        """The parts with S_p = Σ_t max(0, max_i v_iᵀ s_t): negated ones among others.

        They count where the photo has them, and not where it speaks against them. Where nothing
        else is asked for, that alone tells which photos are least like what is negated.
        """
        positive = any(weight > 0 for weight in self.weights)
        return tuple(positive and weight < 0 for weight in self.weights)

    @property
    def bag(self) -> FragmentBag:
        """The fragments of all parts, one after another, as links count them."""
        vectors = [part.vectors for part in self.parts]
        return FragmentBag(
            torch.cat(vectors) if vectors else torch.empty(0, 0),
            tuple(chain.from_iterable(part.places for part in self.parts)),  # type: ignore[arg-type]
            tuple(chain.from_iterable(part.labels for part in self.parts)),
            max((part.of_terms for part in self.parts), default=0),
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """The text to ask for, if any, and the negated phrases.

    These texts are as long as the whole and blank elsewhere, so that spans fit both.
    """

    asked: str | None
    negated: tuple[str, ...]
    notes: tuple[str, ...]


def read(text: str, known: Collection[str] = (), *, any_word: bool = False) -> Reading:
    """Find negated phrases, and leave out the words that no model knows.

    `known` are further known words, lower-cased; with `any_word` all are. Raises ValueError for a
    text without words, or with too many.
    """
    sentence = parse(text)
    words = sentence.words
    unknown = {i for i, word in enumerate(words) if not (any_word or knows(word, known))}
    spoken = negations(sentence)
    left_out = unknown.union(*(negated.words for negated in spoken))
    denied = [
        negated
        for negated in spoken
        if negated.named or any(has_content(words[i]) for i in negated.words - unknown)
    ]
    notes = [] if any_word else why_left_out([words[i] for i in sorted(unknown)], text)
    notes += [f'Negation: photos with "{negated.phrase(text)}" come later.' for negated in denied]
    remaining: str | None = blank(text, [words[i].span for i in left_out])
    if left_out and not any(has_content(word) for i, word in enumerate(words) if i not in left_out):
        remaining = None
        notes += [] if denied else [NOTHING_KNOWN]
    gone = [words[i].span for i in sorted(unknown)]
    return Reading(
        remaining,
        tuple(blank(alone(negated, text), gone) for negated in denied),
        tuple(dict.fromkeys(notes)),
    )


def read_whole(text: str, known: Collection[str] = (), *, any_word: bool = False) -> Reading:
    """Read a text as a stored sentence is read: whole, also what it negates.

    Parameters and errors are those of `read`.
    """
    words = parse(text).words
    unknown = [word for word in words if not (any_word or knows(word, known))]
    familiar = any(has_content(word) for word in words if word not in unknown) or not unknown
    notes = [f'"{word.text}" is not a word that the model knows.' for word in unknown]
    return Reading(text if familiar else None, (), tuple(dict.fromkeys(notes)))


def left_out_of(text: str, known: Collection[str] = ()) -> list[str]:
    """Notes about what of a text no model reads: words that are not `known`, and symbols."""
    unknown = [word for word in parse(text).words if not knows(word, known)]
    return why_left_out(unknown, text)


def why_left_out(unknown: Iterable[Word], text: str) -> list[str]:
    """Notes about the unknown words of a text, and its symbols, such as emoji."""
    symbols = [
        f'"{character}" has no letters: it is left out.'
        for character in text
        if unicodedata.category(character) == "So"
    ]
    return [*map(why_unknown, unknown), *symbols]


def knows(word: Word, known: Collection[str]) -> bool:
    """Return whether a word is known in general, or to this model."""
    return plain(word.text) in known or is_known(word.text)


def alone(negated: Negated, text: str) -> str:
    """A text of the same length with nothing but a negated phrase."""
    start, end = negated.span.start, negated.span.end
    return (" " * start + negated.phrase(text)).ljust(end).ljust(len(text))


def has_content(word: Word) -> bool:
    """Return whether a word means something by itself."""
    return not is_function_word(word.text)


def why_unknown(word: Word) -> str:
    """The note about a word that is left out."""
    if not is_latin(word.text):
        return f'"{word.text}" is left out: the model reads only Latin letters.'
    return f'"{word.text}" is not a word that the model knows: it is left out.'


def blank(text: str, spans: Iterable[Span]) -> str:
    """A text with blanks in the place of some spans."""
    characters = list(text)
    for span in spans:
        characters[span.start : span.end] = " " * (span.end - span.start)
    return "".join(characters)


def find_phrase(text: str, phrase: str) -> Span:
    """The place of a phrase in a text, in any case; whole words before parts.

    ValueError for a phrase that is not in the text.
    """
    folded, sought = without_case(text), without_case(phrase)
    first = at = folded.find(sought)
    while at >= 0 and not is_whole(text, at, at + len(phrase)):
        at = folded.find(sought, at + 1)
    if first < 0:
        raise ValueError(f"phrases: {phrase!r:.100} is not in the text; copy it from there")
    start = first if at < 0 else at
    return Span(start, start + len(phrase))


def without_case(text: str) -> str:
    """A text of the same length in which case makes no difference."""
    return "".join(c if len(folded := c.casefold()) > 1 else folded for c in text)


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether no letter or digit stands right before or behind a part of a text."""
    around = text[max(start - 1, 0) : start] + text[end : end + 1]
    return not LETTER.search(around)


Read = Callable[..., Reading]  # `read` or `read_whole`


def of_phrases(
    matcher: Matcher, weighted: Sequence[tuple[str, float]], known: Collection[str] = ()
) -> Query:
    """Phrases as one query, whose text is theirs joined by ", "; errors are those of `read`."""
    return of_several(matcher, [weighted], known)[0]


def of_several(
    matcher: Matcher,
    weighted_lists: Sequence[Sequence[tuple[str, float]]],
    known: Collection[str] = (),
    read: Read = read,
) -> list[Query]:
    """Several queries, each as `of_phrases` makes it, embedded at once.

    `read_whole` reads them to be compared with stored sentences.
    """
    drafts = [
        QueryDraft.of(weighted, known, read, any_word=matcher.any_word)
        for weighted in weighted_lists
    ]
    texts = [text for draft in drafts for text in draft.texts]
    bags = iter(matcher.embed_sentences(texts) if texts else ())
    return [draft.query([next(bags) for _ in draft.texts]) for draft in drafts]


@dataclass(frozen=True, slots=True)
class QueryDraft:
    """A query whose parts are not embedded yet: their texts, weights and places in its text."""

    texts: tuple[str, ...]
    weights: tuple[float, ...]
    starts: tuple[int, ...]
    text: str
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        weighted: Sequence[tuple[str, float]],
        known: Collection[str],
        read: Read = read,
        *,
        any_word: bool,
    ) -> QueryDraft:
        """Phrases with their weights, read; ValueError as `read` raises it, and for too many."""
        if len(weighted) > 1:
            refuse_many([phrase for phrase, _ in weighted])
        readings = [read(phrase, known, any_word=any_word) for phrase, _ in weighted]
        texts, weights, starts, start = list[str](), list[float](), list[int](), 0
        for (phrase, weight), reading in zip(weighted, readings, strict=True):
            texts += [reading.asked] if reading.asked is not None else []
            texts += reading.negated
            weights += [weight] if reading.asked is not None else []
            weights += [-NEGATED * weight] * len(reading.negated)
            starts += [start] * (len(texts) - len(starts))
            start += len(phrase) + len(", ")
        if len(texts) > MOST_PARTS:
            raise ValueError(
                f"the query has {len(texts)} phrases, negated ones included; "
                f"send at most {MOST_PARTS}"
            )
        notes = dict.fromkeys(chain.from_iterable(reading.notes for reading in readings))
        notes.pop(NOTHING_KNOWN, None)  # of one phrase, perhaps not of all
        text = ", ".join(phrase for phrase, _ in weighted)
        return cls((*texts,), (*weights,), (*starts,), text, (*notes,))

    def query(self, bags: Sequence[FragmentBag]) -> Query:
        """The query of the texts' bags."""
        parts = tuple(
            move(bag, by) if by else bag for bag, by in zip(bags, self.starts, strict=True)
        )
        notes = self.notes if parts else (*self.notes, NOTHING_KNOWN)
        return Query(parts, self.weights, self.text, notes)


def move(bag: FragmentBag, by: int) -> FragmentBag:
    """A bag of a text that starts so many characters into another."""
    spans = tuple(
        Span(place.start + by, place.end + by) for place in bag.places if isinstance(place, Span)
    )
    return replace(bag, places=spans)
