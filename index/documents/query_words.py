"""Wording: what the words of a query are taken for; joined and parted words, typos, synonyms."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, pairwise, product
from typing import Protocol

from index.documents import spellings
from index.documents.analysis import is_content
from index.documents.bm25 import Alternative
from index.documents.characters import LONGEST_WORD, fold
from index.documents.corrections import Corrections, Corrector
from index.documents.lacks import Lack, find_lacks, lacking_terms
from index.documents.stems import stem
from index.documents.words import SIGNS, Token, Word, words
from models.types import Span

SYNONYM = 0.9  # the weight of a synonym
OTHER = 0.9  # that of another spelling, or of a number without its sign
MOST_SYNONYMS = 100  # of a line
MOST_TERMS = 8  # that a word of several tokens is looked up by
MOST_JOINED = 8  # tokens of a word that are also looked up joined
LEAST_LETTERS = 4  # of a word next to digits that is also looked up by itself
QUOTED = re.compile(r"""(?<!\w)["“„«]([^"“”„«»]+)["”“»](?!\w)""")
GAP = re.compile(r"\.?\s+")  # between words that may be one: "Dr. Martens"
Option = tuple[str, float]  # a term, and its weight


Synonyms = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query, text[start:end], with the terms to look it up by, at least one.

    `spelling` is what it is taken for: the known word that it was corrected to, or two words;
    `synonyms` are looked up as well.
    """

    start: int
    end: int
    alternatives: tuple[Alternative, ...]
    spelling: str | None = None
    synonyms: tuple[str, ...] = ()


def parse_synonyms(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Synonyms of folded words, from lines such as "sofa, couch, settee"; # begins a comment.

    ValueError for a line of more than MOST_SYNONYMS: a search looks up all of them for each word.
    """
    groups = [
        [fold(word) for word in line.partition("#")[0].split(",") if fold(word)] for line in lines
    ]
    for number, group in enumerate(groups, start=1):
        if len(group) > MOST_SYNONYMS:
            raise ValueError(
                f"line {number} of the synonyms has {len(group):,} words; "
                f"{MOST_SYNONYMS} at most are taken for each other"
            )
    return {
        word: tuple(synonym for synonym in group if synonym != word)
        for group in groups
        for word in group
    }


class Vocabulary(Protocol):
    """What the documents say."""

    def has_phrase(self, term: str) -> bool:
        """Return whether any document has some stems, with spaces between them, in a row."""

    def spelling(self, folded: str) -> str:
        """The way in which a joined word is written most."""


class Wording:
    """Reads queries with the words that some documents had at a moment.

    counts: folded words, with their documents' number. joined: words of several tokens, likewise.
    terms: stems.
    """

    def __init__(
        self,
        counts: Mapping[str, int],
        joined: Mapping[str, int],
        terms: AbstractSet[str],
        vocabulary: Vocabulary,
        synonyms: Synonyms | None = None,
    ) -> None:
        self._counts, self._joined, self._terms = counts, joined, terms
        self._vocabulary, self._synonyms = vocabulary, synonyms or {}
        self._corrector = Corrector({**joined, **counts})

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._counts.keys() | self._joined.keys())

    def corrections(self, text: str) -> Corrections:
        """Correct the unknown words of a text to the nearest known ones."""
        tokens = (token.folded for word in words(text) for token in word.tokens)
        return self._corrector.correct(
            folded for folded in tokens if not self._alternatives(folded)
        )

    def read(
        self,
        text: str,
        corrections: Corrections | None = None,
        naming: Collection[int] = (),
        within: Span | None = None,
    ) -> tuple[QueryWord, ...]:
        """Read the content words of a query; function words are left out, unless all are.

        The text may be a part of the one that the corrections are of. `naming` are the starts of
        function words that are parts of names. Only those words are read that are `within` a part.
        """
        if corrections is None:
            corrections = self.corrections(text)
        start, end = (within.start, within.end) if within else (0, len(text))
        typed = quote(text, words(text, start, end))
        content = [word for word in typed if word.start in naming or _has_content(word)] or typed
        read = {word.start: self._read(text, word, corrections) for word in content}
        for left, right in pairwise(typed):
            if GAP.fullmatch(text, left.end, right.start):
                self._add_compound(read, left, right)
        for lack in find_lacks(typed, spaced=True):
            self._add_lack(read, typed, lack)
        return tuple(chain.from_iterable(read.values()))

    def correct(self, text: str, query_words: Sequence[QueryWord]) -> str:
        """Correct the spellings of the words in a text."""
        for word in sorted(
            {(word.start, word.end, word.spelling) for word in query_words}, reverse=True
        ):
            start, end, known = word
            if known is not None:
                text = text[:start] + known + text[end:]
        return text

    def beginning(self, prefix: str) -> list[str]:
        """List the folded words that begin with a prefix, in order."""
        first = bisect_left(self._sorted, prefix)
        last = bisect_left(self._sorted, prefix + "\U0010ffff")
        return self._sorted[first:last]

    def has(self, term: str) -> bool:
        """Return whether any document has a term."""
        if " " not in term:
            return term in self._terms
        return self._terms.issuperset(term.split(" ")) and self._vocabulary.has_phrase(term)

    def read_lacking(self, text: str, word: QueryWord) -> QueryWord | None:
        """Look up what says that a thing lacks what a word names; None where no document does."""
        terms = chain.from_iterable(
            lacking_terms(alternative.form or alternative.term)
            for alternative in word.alternatives
            if " " not in alternative.term
        )
        known = tuple(Alternative(term) for term in dict.fromkeys(terms) if self.has(term))
        name = word.spelling or text[word.start : word.end]
        return QueryWord(word.start, word.end, known, f"{name}-free") if known else None

    def _read(self, text: str, word: Word, corrections: Corrections) -> list[QueryWord]:
        """Look a word up as its tokens in a row; if none has them so, as each of its tokens."""
        tokens = word.tokens
        if len(tokens) == 1:
            return [self._read_token(tokens[0], corrections)]
        if known := self._find_terms(tokens):
            return [QueryWord(word.start, word.end, known)]
        corrected = [
            replace(token, folded=corrections.spellings.get(token.folded, token.folded))
            for token in tokens
        ]
        if corrected != list(tokens) and (known := self._find_terms(corrected)):
            return [QueryWord(word.start, word.end, known, _replace(text, tokens, corrected))]
        if word.quoted or not _is_read_apart(tokens):
            term = " ".join(stem(token.folded) for token in tokens)
            return [QueryWord(word.start, word.end, (Alternative(term),))]
        content = [token for token in tokens if is_content(token.folded)] or tokens
        return [self._read_token(token, corrections) for token in content]

    def _read_token(self, token: Token, corrections: Corrections) -> QueryWord:
        """Look a token up as it is, as it is spelled elsewhere, as two words, or corrected."""
        folded, start, end = token.folded, token.start, token.end
        synonyms = tuple(self._synonyms.get(folded, ()))
        if self._is_known(folded) or folded in self._joined:
            return QueryWord(start, end, self._alternatives(folded), synonyms=synonyms)
        if alternatives := self._alternatives(folded):
            variant = next(self._variants(folded), None)
            names = tuple(self._synonyms.get(variant or folded, ()))
            spelling = variant or " ".join(self._halves(folded)[0])
            return QueryWord(start, end, alternatives, spelling, names)
        nearest = corrections.spellings.get(folded)
        known = self._alternatives(nearest) if nearest else ()
        return QueryWord(start, end, known or (Alternative(stem(folded)),), nearest)

    def _alternatives(self, folded: str) -> tuple[Alternative, ...]:
        """The known terms of a word: its own, synonyms, other spellings, and two words in a row."""
        found = dict[str, Alternative]()
        for word, weight in ((folded, 1.0), *((word, OTHER) for word in self._variants(folded))):
            if self.has(stem(word)):
                found.setdefault(stem(word), Alternative(stem(word), weight, word))
            for synonym in self._synonyms.get(word, ()):
                if self.has(stem(synonym)):
                    found.setdefault(stem(synonym), Alternative(stem(synonym), SYNONYM, synonym))
        for term in self._parted(folded):
            found.setdefault(term, Alternative(term))
        return tuple(found.values())

    def _variants(self, folded: str) -> Iterator[str]:
        known = self._is_known(folded)
        ways = (spellings.variants(folded), () if known else spellings.without_umlauts(folded))
        return filter(self._is_known, chain.from_iterable(ways))

    def _is_known(self, folded: str) -> bool:
        return self.has(stem(folded)) or any(
            self.has(stem(synonym)) for synonym in self._synonyms.get(folded, ())
        )

    def _parted(self, folded: str) -> Iterator[str]:
        """The phrases that a word is written as elsewhere: "t shirt" for "tshirt"."""
        if folded in self._joined:
            written = words(self._vocabulary.spelling(folded))
            yield " ".join(stem(token.folded) for word in written for token in word.tokens)
        yield from (f"{stem(left)} {stem(right)}" for left, right in self._halves(folded))

    def _halves(self, folded: str) -> list[tuple[str, str]]:
        """The pairs of words that a word is made of and that a document has in a row.

        A known word is no such pair with a function word: "inbox" is not "in box".
        """
        if len(folded) > LONGEST_WORD or not folded.isalpha():
            return []
        counts, known = self._counts, self._is_known(folded)
        pairs = ((folded[:at], folded[at:]) for at in range(1, len(folded)))
        likely = [
            (left, right)
            for left, right in pairs
            if left in counts
            and self.has(stem(right))
            and not (known and not (is_content(left) and is_content(right)))
        ]
        return [pair for pair in likely if self.has(f"{stem(pair[0])} {stem(pair[1])}")]

    def _find_terms(self, tokens: Sequence[Token]) -> tuple[Alternative, ...]:
        """The terms that any document has for tokens in a row, or for some of them as one."""
        rows = [[self._options(token.folded) for token in tokens]]
        for at, (left, right) in enumerate(pairwise(tokens[:MOST_JOINED])):
            joined = left.folded + right.folded
            if joined.isalpha() and self.has(stem(joined)):
                rows.append([*rows[0][:at], [(stem(joined), 1.0)], *rows[0][at + 2 :]])
        if 2 < len(tokens) <= MOST_JOINED:
            rows.append([[(stem("".join(token.folded for token in tokens)), 1.0)]])
        found = dict[str, Alternative]()
        for row in rows:
            for options in islice(product(*row), MOST_TERMS):
                term = " ".join(term for term, _ in options if term)
                if term not in found and self.has(term):
                    found[term] = Alternative(term, min(weight for _, weight in options))
        return tuple(found.values())

    def _options(self, folded: str) -> list[Option]:
        """What a token of several may be looked up by."""
        if folded in SIGNS:
            return [(folded, 1.0), ("", OTHER)]
        variants = [(stem(variant), OTHER) for variant in self._variants(folded)]
        return [(stem(folded), 1.0), *variants, *((term, 1.0) for term in self._parted(folded))]

    def _add_compound(self, read: dict[int, list[QueryWord]], left: Word, right: Word) -> None:
        """Also look two words up as the one word that they form."""
        joined = left.tokens[-1].folded + right.tokens[0].folded
        if not joined.isalpha() or not self.has(stem(joined)):
            return
        before, after = left.tokens[:-1], right.tokens[1:]
        stems = (*_stems(before), stem(joined), *_stems(after))
        compound = Alternative(" ".join(stems), form=None if before or after else joined)
        _extend(read, left.start, right.end, (compound,))

    def _add_lack(
        self, read: dict[int, list[QueryWord]], typed: Sequence[Word], lack: Lack
    ) -> None:
        """Also look up what says in other words that a thing lacks something."""
        tokens = [token for word in typed for token in word.tokens]
        terms = filter(self.has, lacking_terms(tokens[lack.place].folded))
        start, end = tokens[lack.first].start, tokens[lack.last].end
        _extend(read, start, end, tuple(map(Alternative, terms)))


def quote(text: str, typed: Iterable[Word]) -> list[Word]:
    """Join the words between quotation marks."""
    joined = list[Word]()
    spans = [match.span(1) for match in QUOTED.finditer(text)]
    for word in typed:
        span = next((span for span in spans if span[0] <= word.start < span[1]), None)
        if span and joined and joined[-1].start >= span[0]:
            joined[-1] = Word(joined[-1].tokens + word.tokens, quoted=True)
        else:
            joined.append(word)
    return joined


def _extend(
    read: dict[int, list[QueryWord]], start: int, end: int, more: tuple[Alternative, ...]
) -> None:
    """Look the words of a part of the text up by more terms as well."""
    for place, query_words in read.items():
        read[place] = [
            replace(word, alternatives=tuple(dict.fromkeys(word.alternatives + more)))
            if start <= word.start and word.end <= end
            else word
            for word in query_words
        ]


def _has_content(word: Word) -> bool:
    return len(word.tokens) > 1 or is_content(word.tokens[0].folded)


def _is_read_apart(tokens: Sequence[Token]) -> bool:
    """Return whether the tokens of a word mean something each; those of a code do not."""
    return not any(token.is_number for token in tokens) or any(
        len(token.folded) >= LEAST_LETTERS and token.folded.isalpha() for token in tokens
    )


def _stems(tokens: Iterable[Token]) -> Iterator[str]:
    return (stem(token.folded) for token in tokens)


def _replace(text: str, tokens: Sequence[Token], corrected: Sequence[Token]) -> str:
    """A word with corrected tokens."""
    start, end = tokens[0].start, tokens[-1].end
    for token, other in zip(reversed(tokens), reversed(corrected), strict=True):
        if token != other:
            text = text[: token.start] + other.folded + text[token.end :]
            end += len(other.folded) - (token.end - token.start)
    return text[start:end]
