"""Completions of a typed text, by how many items each would find.

A typed text goes on by a word, or by a whole value of metadata such as "sour cream". Both are taken
from fields that name things: titles, brands, kinds. What prose says by the way is no suggestion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

import numpy as np

from index.documents.bm25 import Alternative
from index.documents.columns import LONGEST, Column, Mask, fold_words
from index.documents.corrections import UNCORRECTED
from index.documents.documents import Documents, naming_fields
from index.documents.languages.spellings import spell
from index.documents.query_words import QueryWord, Wording
from index.documents.words import tokens

LOOKED_AT = 64  # of the words that begin alike, those that most documents have
VALUES = 16  # of the values of all keys that begin alike
MOST_VALUES = 2_000  # of a key whose values are looked through: each letter that is typed does so
TYPED = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Completion:
    """A text, and how many items have all of its words where things are named."""

    text: str
    items: int


@dataclass(frozen=True, slots=True)
class Typed:
    """A typed text: the words before the last one, and the beginning of the last one."""

    text: str
    words: tuple[QueryWord, ...]
    last: int  # where the last word begins, whether any of it is there or not

    @property
    def begun(self) -> str:
        """The beginning of the last word, as words are compared."""
        return "".join(token.folded for token in tokens(self.text[self.last :]))


def complete(documents: Documents, text: str, count: int) -> list[Completion]:
    """Complete a text: the completions that find most items."""
    wording, last = documents.wording(), text.rfind(" ") + 1
    typed = Typed(text, wording.read(text[:last]), last)
    begun = next(filter(None, map(wording.beginning, spell(typed.begun))), [])
    with documents.lock:
        return _list_completions(documents, wording, typed, begun)[:count]


def _list_completions(
    documents: Documents, wording: Wording, typed: Typed, begun: Sequence[str]
) -> list[Completion]:
    """List all completions, best first; `begun` are words that begin like the last one."""
    fields = naming_fields(documents)
    before = _before(documents, typed, fields)
    values = _complete_by_value(documents, wording, typed, fields, before)
    by_text = {completion.text: completion for completion in values}
    for completion in _complete_by_word(documents, typed, begun, fields, before[typed.last]):
        by_text.setdefault(completion.text, completion)
    ranked = sorted(by_text.values(), key=lambda completion: (-completion.items, completion.text))
    whole = [completion for completion in ranked if not _goes_on(completion, ranked)]
    return [completion for completion in whole if completion.items]


def _complete_by_word(
    documents: Documents, typed: Typed, begun: Sequence[str], fields: Sequence[str], having: Mask
) -> Iterator[Completion]:
    """Complete by words, the most frequent one of each stem."""
    lexical, stem = documents.lexical, documents.language.stem
    counts = {word: lexical.frequency(word, fields) for word in begun}
    most = nsmallest(LOOKED_AT, filter(counts.get, counts), key=lambda word: (-counts[word], word))
    completed = set[str]()
    for word in most:
        spelling = lexical.vocabulary.spelling(word)
        stems = [stem(token.folded) for token in tokens(spelling, language=documents.language)]
        if (joined := "".join(stems)) not in completed and _is_text(spelling):
            completed.add(joined)
            terms = dict.fromkeys((" ".join(stems), stem(word)))
            items = having & lexical.having_any(map(Alternative, terms), fields)
            text = typed.text[: typed.last] + spelling
            yield Completion(text, int(np.count_nonzero(items)))


def _complete_by_value(
    documents: Documents,
    wording: Wording,
    typed: Typed,
    fields: Sequence[str],
    before: Mapping[int, Mask],
) -> Iterator[Completion]:
    """Complete by values of a few words, which all or the last typed words begin."""
    columns = [documents.columns[field] for field in fields if field in documents.columns]
    text = typed.text
    for start, having in before.items():
        words_before = set(fold_words(text[:start]).split())
        by_spelling = (
            _find_values(columns, way, having) for way in spell(fold_words(text[start:]))
        )
        for value in next(filter(None, by_spelling), ()):
            if _is_text(value) and words_before.isdisjoint(fold_words(value).split()):
                value_words = wording.read(value, UNCORRECTED)
                items = _narrow(documents, having, value_words, fields)
                yield Completion(text[:start] + value.lower(), int(np.count_nonzero(items)))


def _is_text(written: str) -> bool:
    """Return whether it has a letter or digit, unlike "&" for "and"."""
    return any(map(str.isalnum, written))


def _find_values(columns: Iterable[Column], begun: str, having: Mask) -> list[str]:
    """Find values of a few words by their beginning, those that most documents have."""
    most: dict[str, int] = {}
    for column in columns:
        codes = column.beginning(begun) if len(column.values) <= MOST_VALUES else []
        counts = column.counts(having)[codes].tolist() if codes else []
        for code, count in zip(codes, counts, strict=True):
            value = str(column.values[code])
            most[value] = max(count, most.get(value, 0))
    present = (value for value, count in most.items() if count)
    return nsmallest(VALUES, present, key=lambda value: (-most[value], value))


def _before(documents: Documents, typed: Typed, fields: Sequence[str]) -> dict[int, Mask]:
    """Mark the live documents with all words before each of the last words, by its start."""
    starts = [match.start() for match in TYPED.finditer(typed.text, 0, typed.last)] + [typed.last]
    having, before, end = documents.live, dict[int, Mask](), 0
    for start in starts[-LONGEST:]:
        passed = [word for word in typed.words if end <= word.start < start]
        having, end = _narrow(documents, having, passed, fields), start
        before[start] = having
    return before


def _narrow(
    documents: Documents, having: Mask, query_words: Iterable[QueryWord], fields: Sequence[str]
) -> Mask:
    """Keep the documents with all of some words in some fields."""
    for word in query_words:
        if not having.any():
            break
        having = having & documents.lexical.having_any(word.alternatives, fields)
    return having


def _goes_on(completion: Completion, others: Sequence[Completion]) -> bool:
    """Return whether a longer completion finds as many items."""
    longer = completion.text + " "
    return any(
        other.items >= completion.items and other.text.startswith(longer) for other in others
    )
