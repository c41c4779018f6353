"""Thesaurus: other ways of documents to have a word: spelled, joined, parted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain, islice, pairwise, product
from typing import Protocol

from index.documents.bm25 import Alternative
from index.documents.characters import LONGEST_WORD, SIGNS
from index.documents.compounds import LINKS, Compounds
from index.documents.identifiers import list_written, squeeze
from index.documents.languages import spellings
from index.documents.numbers import other_ways
from index.documents.word_table import WordTable
from index.documents.words import Token, tokens, words

SYNONYM = 0.9  # the weight of a synonym
MOST_SYNONYMS = 100  # of a line
OTHER = 0.9  # that of another spelling, or of a number without its sign
LEAST_FUNCTION = 2  # letters of a function word that may be half of a word: "make up"
GUESSED = 0.4  # that of a word that may be a compound of it
COMPOUND = 0.5  # that of a compound of the word: "Regenjacke" for "Jacke"
KEPT = 1_000  # words whose terms are kept
MOST_TERMS = 8  # that a word of several tokens is looked up by
LEAST_DIGITS = 6  # of a code of digits alone that is typed with other signs
MOST_JOINED = 8  # tokens of a word that are also looked up joined
Option = tuple[str, float]  # a term, and its weight
Synonyms = Mapping[str, Sequence[str]]


def parse_synonyms(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Synonyms by folded words, from lines such as "sofa, couch, day bed".

    # begins a comment.

    ValueError for a line of more than MOST_SYNONYMS: a search looks up all of them for each word.
    """
    return group_synonyms(line.partition("#")[0].split(",") for line in lines)


def group_synonyms(lines: Iterable[Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Synonyms by folded words, from groups; errors are those of parse_synonyms.

    A word of several groups has the synonyms of all.
    """
    groups = [[name for part in line if (name := fold_text(part))] for line in lines]
    for number, group in enumerate(groups, start=1):
        if len(group) > MOST_SYNONYMS:
            raise ValueError(
                f"line {number} of the synonyms has {len(group):,} words; "
                f"{MOST_SYNONYMS} at most are taken for each other"
            )
    united = dict[str, dict[str, None]]()
    for group in groups:
        for word in group:
            united.setdefault(word, {}).update(dict.fromkeys(group))
    return {
        word: tuple(synonym for synonym in group if synonym != word)
        for word, group in united.items()
    }


def fold_text(text: str) -> str:
    """Return the folded words of a text with spaces between.

    >>> fold_text("Blue  SOFA!")
    'blue sofa'
    """
    return _join(tokens(text))


def is_form(word: str, other: str) -> bool:
    """Return whether words with the same stems differ by a short ending, as plurals do.

    >>> is_form("couch", "couches"), is_form("city", "cities"), is_form("animal", "animation")
    (True, True, False)
    """
    shorter, longer = sorted((len(word), len(other)))
    begin_alike = word[: shorter - 1] == other[: shorter - 1]
    return longer - shorter <= 2 and begin_alike


def _may_be_code(row: Sequence[Token], written: str) -> bool:
    """Return whether tokens in a row may be all of a code, and are no quantity.

    A code has letters and digits, or many digits; "1.5 l" and "1/5" are none.
    """
    code = squeeze(written)
    if code.isdigit():
        return len(code) >= LEAST_DIGITS
    decimal = row[0].is_number and not row[0].folded.isdigit()
    return not decimal and any(map(str.isdigit, code))


class Texts(Protocol):
    """Texts of documents, as far as single words do not tell them."""

    def has_phrase(self, term: str, *, in_codes: bool = False) -> bool:
        """Return whether any document has spaced stems in a row, perhaps in a field of codes."""

    def list_codes(self, code: str) -> list[str]:
        """List the terms of codes that are written so without signs."""

    def spelling(self, folded: str) -> str:
        """The most frequent spelling of a joined word."""


class Thesaurus:
    """Finds the terms of words in the documents of a moment.

    counts: folded words, with their documents' number. joined: words of several tokens, likewise.
    """

    def __init__(
        self, vocabulary: WordTable, texts: Texts, synonyms: Synonyms | None = None
    ) -> None:
        self.language, self._stem = vocabulary.language, vocabulary.language.stem
        self.counts, self.joined = dict(vocabulary.counts), dict(vocabulary.joined)
        self._terms = frozenset(vocabulary.having)
        self._texts = texts
        # By stems, then by words: other forms of a word have them, too.
        self._synonyms: dict[str, dict[str, Sequence[str]]] = {}
        for word, names in (synonyms or {}).items():
            self._synonyms.setdefault(self._stem_all(word), {})[word] = names

    def has(self, term: str, *, in_codes: bool = False) -> bool:
        """Return whether any document has a term, a phrase perhaps in a field of codes."""
        if " " not in term:
            return term in self._terms
        stems = term.split(" ")
        return self._terms.issuperset(stems) and self._texts.has_phrase(term, in_codes=in_codes)

    def find_code(self, row: Sequence[Token], written: str) -> tuple[Alternative, ...]:
        """The known terms of a code, such as a SKU: all of it, or tokens of it in a row.

        Of all of it, signs and spaces may be others.
        """
        codes = list_written(squeeze(written)) if _may_be_code(row, written) else []
        terms = [term for code in codes for term in self._texts.list_codes(code)]
        term = self._stem_all(_join(row))
        if 1 < len(row) <= MOST_JOINED and self.has(term, in_codes=True):
            terms.append(term)
        return tuple(Alternative(term, in_codes=True) for term in dict.fromkeys(terms))

    @cached_property
    def find(self) -> Callable[[str], tuple[Alternative, ...]]:
        """Find the known terms of a word, of synonyms, spellings and halves."""
        return lru_cache(KEPT)(self._find)

    def _find(self, folded: str) -> tuple[Alternative, ...]:
        alternatives = dict[str, Alternative]()
        for word, weight in ((folded, 1.0), *((word, OTHER) for word in self.variants(folded))):
            if self.has(self._stem(word)):
                alternatives.setdefault(
                    self._stem(word), Alternative(self._stem(word), weight, word)
                )
            for alternative in self.find_synonyms(word):
                alternatives.setdefault(alternative.term, alternative)
        for term in self._part_word(folded):
            alternatives.setdefault(term, Alternative(term))
        words = [folded, *(each.form for each in alternatives.values() if each.form)]
        compounds = self._find_compounds([*dict.fromkeys(words)], known=bool(alternatives))
        return (*alternatives.values(), *compounds)

    def variants(self, folded: str) -> Iterator[str]:
        """The known other spellings of a word or number."""
        if folded[0].isdigit():
            return filter(self.is_known, other_ways(folded))
        plain = self.language.plain(folded)
        ways = [self.language.variants(folded), self._with_accents.get(plain, ())]
        if not self.is_known(folded):
            ways.append(spellings.without_umlauts(folded))
        return filter(self.is_known, chain.from_iterable(ways))

    @cached_property
    def _with_accents(self) -> Mapping[str, Sequence[str]]:
        """The words with accents, by their plain letters."""
        by_letters: dict[str, list[str]] = {}
        for word in self.counts if self.language.has_accents else ():
            if (letters := self.language.plain(word)) != word:
                by_letters.setdefault(letters, []).append(word)
        return by_letters

    def is_known(self, folded: str) -> bool:
        """Return whether any document has a word, or a synonym of it."""
        return self.has(self._stem(folded)) or bool(self.find_synonyms(folded))

    def names(self, folded: str) -> tuple[str, ...]:
        """The synonyms of a word, known or not."""
        plain = self.language.plain(folded)
        words = self._synonyms.get(stems := self._stem_all(plain), {})
        names = chain.from_iterable(words[word] for word in words if is_form(word, plain))
        return tuple(name for name in dict.fromkeys(names) if self._stem_all(name) != stems)

    def _stem_all(self, text: str) -> str:
        """The stems of folded words with spaces between."""
        return " ".join(map(self._stem, text.split()))

    def find_synonyms(self, folded: str) -> list[Alternative]:
        """The known synonyms of a word, or of several with spaces."""
        synonyms = [
            Alternative(" ".join(map(self._stem_plain, synonym.split())), SYNONYM, synonym)
            for synonym in self.names(folded)
        ]
        return [synonym for synonym in synonyms if self.has(synonym.term)]

    def _stem_plain(self, word: str) -> str:
        """The term of a plain word, or of a known accented one."""
        term = self._stem(word)
        words = self._with_accents.get(word, ()) if term not in self._terms else ()
        return next(map(self._stem, words), term)

    def _part_word(self, folded: str) -> Iterator[str]:
        """The phrases for a word elsewhere: "t shirt" for "tshirt"."""
        if folded in self.joined:
            written = words(self._texts.spelling(folded), language=self.language)
            yield " ".join(self._stem(token.folded) for word in written for token in word.tokens)
        yield from (
            f"{self._stem(left)} {self._stem(right)}" for left, right in self.halves(folded)
        )

    def halves(self, folded: str) -> list[tuple[str, str]]:
        """The known pairs of words in a row of a word's letters.

        A known word is no such pair with a function word: "inbox" is not "in box".
        """
        if len(folded) > LONGEST_WORD or not folded.isalpha():
            return []
        least = len(folded) if self.is_known(folded) else LEAST_FUNCTION
        pairs = ((folded[:at], folded[at:]) for at in range(1, len(folded)))
        return [
            (left, right)
            for left, right in pairs
            if left in self.counts
            and all(self.language.is_content(half) or len(half) >= least for half in (left, right))
            and self.has(f"{self._stem(left)} {self._stem(right)}")
        ]

    def _find_compounds(self, words: Sequence[str], *, known: bool) -> Iterator[Alternative]:
        """The compounds of any of some words: sure ones, then guessed ones."""
        if self._compounds is None:
            return
        term = self._stem(words[0])
        listed = [self._compounds.list_of(word, known=known) for word in words if word.isalpha()]
        sure = dict.fromkeys(chain.from_iterable(sure for sure, _ in listed))
        guessed = dict.fromkeys(chain.from_iterable(guessed for _, guessed in listed))
        if sure:
            yield Alternative(term, COMPOUND, compounds=tuple(sure))
        if others := tuple(word for word in guessed if word not in sure):
            yield Alternative(term, GUESSED, compounds=others, guessed=True)

    @cached_property
    def _compounds(self) -> Compounds | None:
        """The compounds of the documents; None in a language without."""
        return Compounds(self.counts, self.language) if self.language.joins else None

    def list_joined(self, left: str, right: str) -> list[str]:
        """List the known words of two in a row, with a link between them in some languages."""
        joined = (f"{left}{link}{right}" for link in (LINKS if self.language.joins else ("",)))
        return [word for word in joined if word.isalpha() and self.has(self._stem(word))]

    def find_row(self, row: Sequence[Token]) -> tuple[Alternative, ...]:
        """The known terms of tokens in a row, some of them joined."""
        ways = [[self._options(token.folded) for token in row]]
        for at, (left, right) in enumerate(pairwise(row[:MOST_JOINED])):
            joined = left.folded + right.folded
            if joined.isalpha() and self.has(self._stem(joined)):
                ways.append([*ways[0][:at], [(self._stem(joined), 1.0)], *ways[0][at + 2 :]])
        if 2 < len(row) <= MOST_JOINED:
            ways.append([[(self._stem("".join(token.folded for token in row)), 1.0)]])
        alternatives = dict[str, Alternative]()
        for way in ways:
            for options in islice(product(*way), MOST_TERMS):
                term = " ".join(term for term, _ in options if term)
                if term not in alternatives and self.has(term):
                    alternatives[term] = Alternative(term, min(weight for _, weight in options))
        for synonym in self.find_synonyms(_join(row)):
            alternatives.setdefault(synonym.term, synonym)
        return tuple(alternatives.values())

    def _options(self, folded: str) -> list[Option]:
        """The terms of a token of several, with their weights."""
        if folded in SIGNS:
            return [(folded, 1.0), ("", OTHER)]
        variants = [(self._stem(variant), OTHER) for variant in self.variants(folded)]
        return [
            (self._stem(folded), 1.0),
            *variants,
            *((term, 1.0) for term in self._part_word(folded)),
        ]


def _join(row: Iterable[Token]) -> str:
    return " ".join(token.folded for token in row)
