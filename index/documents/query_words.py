"""Wording of a query: joined and parted words, typos, synonyms, lacks."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, pairwise

from index.documents.bm25 import Alternative
from index.documents.characters import APOSTROPHES
from index.documents.corrections import Corrections, Corrector
from index.documents.lacks import Lack, find_lacks, lacking_terms
from index.documents.thesaurus import MOST_JOINED, Thesaurus
from index.documents.words import Token, WrittenWord, read_words, words
from models.types import Span

LEAST_LETTERS = 4  # of a word next to digits that is also looked up by itself
QUOTED = re.compile(r"""(?<!\w)["“„«]([^"“”„«»]+)["”“»](?!\w)""")
MOST_RUNS = 100  # words in a row of a text that are looked up as codes
CODE_GAP = re.compile(r"\s*[-–./_:]?\s*")  # between parts of a code
GAP = re.compile(r"\.?\s+")  # between words that may be one: "Dr. Martens"


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query, text[start:end], with its terms.

    `spelling` is what it is taken for: the known word that it was corrected to, or two words;
    `synonyms` are looked up as well.
    """

    start: int
    end: int
    alternatives: tuple[Alternative, ...]
    spelling: str | None = None
    synonyms: tuple[str, ...] = ()


class Wording:
    """Reads queries with the words of documents at a moment."""

    def __init__(self, thesaurus: Thesaurus) -> None:
        self._thesaurus = thesaurus
        self.language, self._stem = thesaurus.language, thesaurus.language.stem
        self._corrector = Corrector({**thesaurus.joined, **thesaurus.counts}, self.language)

    @cached_property
    def _by_letters(self) -> list[tuple[str, str]]:
        """All words behind their plain letters."""
        words = self._thesaurus.counts.keys() | self._thesaurus.joined.keys()
        return sorted((self.language.plain(word), word) for word in words)

    def corrections(self, text: str) -> Corrections:
        """Correct the unknown words of a text to the nearest known ones."""
        tokens = (token.folded for word in read_words(text, self.language) for token in word.tokens)
        return self._corrector.correct(
            folded
            for folded in tokens
            if all(each.compounds for each in self._thesaurus.find(folded))
        )

    def read(
        self,
        text: str,
        corrections: Corrections | None = None,
        naming: Collection[int] = (),
        within: Span | None = None,
    ) -> tuple[QueryWord, ...]:
        """Read the content words of a query, or its function words alone.

        The text may be a part of the one that the corrections are of. `naming` are the starts of
        function words that are parts of names. Only those words are read that are `within` a part.
        """
        if corrections is None:
            corrections = self.corrections(text)
        typed = self._read_words(text, within)
        content = [word for word in typed if word.start in naming or self._has_content(word)]
        if not content and within is None:
            content = typed
        read = {word.start: self._read(text, word, corrections) for word in content}
        for left, right in pairwise(typed):
            if GAP.fullmatch(text, left.end, right.start):
                self._add_compound(read, left, right)
        for run in islice(_list_runs(text, typed), MOST_RUNS):
            tokens = tuple(chain.from_iterable(word.tokens for word in run))
            start, end = run[0].start, run[-1].end
            _extend(read, start, end, self._thesaurus.find_code(tokens, text[start:end]))
        for lack in find_lacks(typed, self.language):
            self._add_lack(read, typed, lack)
        return tuple(chain.from_iterable(read.values()))

    def _read_words(self, text: str, within: Span | None) -> list[WrittenWord]:
        """The words of a text or a part, quoted ones together.

        "12 x 330" that no document has is three words.
        """
        if within is None:
            read: Iterable[WrittenWord] = read_words(text, self.language)
        else:
            read = words(text, within.start, within.end, self.language)
        return quote(text, chain.from_iterable(self._part(text, word) for word in read))

    def _part(self, text: str, word: WrittenWord) -> Sequence[WrittenWord]:
        """Part a word at its spaces, unless some document has it whole."""
        parts = tuple(word.part(text))
        return parts if len(parts) > 1 and not self._thesaurus.find_row(word.tokens) else (word,)

    def correct(self, text: str, query_words: Sequence[QueryWord]) -> str:
        """Correct the spellings of the words in a text."""
        for word in sorted(
            {(word.start, word.end, word.spelling) for word in query_words}, reverse=True
        ):
            start, end, spelling = word
            if spelling is not None:
                text = text[:start] + spelling + text[end:]
        return text

    def beginning(self, prefix: str) -> list[str]:
        """List the words with a prefix of plain letters, in order."""
        first = bisect_left(self._by_letters, (prefix,))
        last = bisect_left(self._by_letters, (prefix + "\U0010ffff",))
        return [word for _, word in self._by_letters[first:last]]

    def has(self, term: str) -> bool:
        """Return whether any document has a term."""
        return self._thesaurus.has(term)

    def read_lacking(self, text: str, word: QueryWord) -> QueryWord | None:
        """Look up named lacks of a word, if documents have any."""
        terms = chain.from_iterable(
            lacking_terms(alternative.form or alternative.term, self.language)
            for alternative in word.alternatives
            if " " not in alternative.term
        )
        lacking = tuple(Alternative(term) for term in dict.fromkeys(terms) if self.has(term))
        name = word.spelling or text[word.start : word.end]
        return QueryWord(word.start, word.end, lacking, f"{name}-free") if lacking else None

    def _read(self, text: str, word: WrittenWord, corrections: Corrections) -> list[QueryWord]:
        """Look a word up as its tokens in a row, or each."""
        tokens = word.tokens
        if len(tokens) == 1:
            return [self._read_token(tokens[0], corrections)]
        if row := self._thesaurus.find_row(tokens):
            return [QueryWord(word.start, word.end, row)]
        corrected = [
            replace(token, folded=corrections.spellings.get(token.folded, token.folded))
            for token in tokens
        ]
        if corrected != list(tokens) and (row := self._thesaurus.find_row(corrected)):
            return [QueryWord(word.start, word.end, row, _replace(text, tokens, corrected))]
        if word.quoted or not _is_read_apart(text, word):
            term = " ".join(self._stem(token.folded) for token in tokens)
            return [QueryWord(word.start, word.end, (Alternative(term),))]
        content = [token for token in tokens if self.language.is_content(token.folded)] or tokens
        return [self._read_token(token, corrections) for token in content]

    def _read_token(self, token: Token, corrections: Corrections) -> QueryWord:
        """Look a token up as it is, otherwise spelled, parted, or corrected."""
        folded, start, end = token.folded, token.start, token.end
        synonyms = self._thesaurus.names(folded)
        if self._thesaurus.is_known(folded) or folded in self._thesaurus.joined:
            return QueryWord(start, end, self._thesaurus.find(folded), synonyms=synonyms)
        nearest = corrections.spellings.get(folded)
        # "chraube" is no end of "Holzschraube", but a "Schraube".
        cut = nearest is not None and nearest.endswith(folded)
        if (alternatives := self._thesaurus.find(folded)) and not cut:
            variant = next(self._thesaurus.variants(folded), None)
            names = self._thesaurus.names(variant or folded)
            halves = [" ".join(pair) for pair in self._thesaurus.halves(folded)]
            spelling = variant or next(iter(halves), None)
            return QueryWord(start, end, alternatives, spelling, names)
        near = self._thesaurus.find(nearest) if nearest else ()
        return QueryWord(start, end, near or (Alternative(self._stem(folded)),), nearest)

    def _add_compound(
        self, read: dict[int, list[QueryWord]], left: WrittenWord, right: WrittenWord
    ) -> None:
        """Look two words up as one, too, and by synonyms."""
        last, first = left.tokens[-1].folded, right.tokens[0].folded
        more = self._thesaurus.find_synonyms(f"{last} {first}")
        before, after = left.tokens[:-1], right.tokens[1:]
        for joined in self._thesaurus.list_joined(last, first):
            stems = (*self._stems(before), self._stem(joined), *self._stems(after))
            form = None if before or after else joined
            more.append(Alternative(" ".join(stems), form=form))
        _extend(read, left.start, right.end, tuple(more))

    def _has_content(self, word: WrittenWord) -> bool:
        return len(word.tokens) > 1 or self.language.is_content(word.tokens[0].folded)

    def _stems(self, tokens: Iterable[Token]) -> Iterator[str]:
        return (self._stem(token.folded) for token in tokens)

    def _add_lack(
        self, read: dict[int, list[QueryWord]], typed: Sequence[WrittenWord], lack: Lack
    ) -> None:
        """Look up other names of a lack, too."""
        tokens = [token for word in typed for token in word.tokens]
        terms = filter(self.has, lacking_terms(tokens[lack.place].folded, self.language))
        start, end = tokens[lack.first].start, tokens[lack.last].end
        _extend(read, start, end, tuple(map(Alternative, terms)))


def quote(text: str, typed: Iterable[WrittenWord]) -> list[WrittenWord]:
    """Join the words between quotation marks."""
    joined = list[WrittenWord]()
    spans = [match.span(1) for match in QUOTED.finditer(text)]
    for word in typed:
        span = next((span for span in spans if span[0] <= word.start < span[1]), None)
        if span and joined and joined[-1].start >= span[0]:
            joined[-1] = WrittenWord(joined[-1].tokens + word.tokens, quoted=True)
        else:
            joined.append(word)
    return joined


def _extend(
    read: dict[int, list[QueryWord]], start: int, end: int, more: tuple[Alternative, ...]
) -> None:
    """Add terms to the words of a part of the text."""
    if not more:
        return
    for place, query_words in read.items():
        read[place] = [
            replace(word, alternatives=tuple(dict.fromkeys(word.alternatives + more)))
            if start <= word.start and word.end <= end
            else word
            for word in query_words
        ]


def _list_runs(text: str, typed: Sequence[WrittenWord]) -> Iterator[Sequence[WrittenWord]]:
    """List words in a row that may be a code: "GH 78 9"."""
    for first in range(len(typed)):
        for end in range(first + 1, min(first + MOST_JOINED, len(typed)) + 1):
            run = typed[first:end]
            if len(run) > 1 and not CODE_GAP.fullmatch(text, run[-2].end, run[-1].start):
                break
            if any(token.is_number for word in run for token in word.tokens):
                yield run


def _is_read_apart(text: str, word: WrittenWord) -> bool:
    """Return whether a word's tokens mean something each, unlike those of codes."""
    if not set(APOSTROPHES).isdisjoint(text[word.start : word.end]):
        return False
    return not any(token.is_number for token in word.tokens) or any(
        len(token.folded) >= LEAST_LETTERS and token.folded.isalpha() for token in word.tokens
    )


def _replace(text: str, tokens: Sequence[Token], corrected: Sequence[Token]) -> str:
    """A word with corrected tokens."""
    start, end = tokens[0].start, tokens[-1].end
    for token, other in zip(reversed(tokens), reversed(corrected), strict=True):
        if token != other:
            text = text[: token.start] + other.folded + text[token.end :]
            end += len(other.folded) - (token.end - token.start)
    return text[start:end]
