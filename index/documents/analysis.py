"""Analysis of a field's text: tokens, joined words, and named lacks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from index.documents.lacks import LACKING, MAYBE_LACKING, find_lacks
from index.documents.languages.english import ENGLISH
from index.documents.languages.word_language import WordLanguage
from index.documents.words import words

LONGEST = 200  # characters of a text whose analysis is kept, as many items have the same
Spellings = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """The tokens of a text, in order.

    joined: words of several tokens, written as one. lacking: the terms of tokens that it names as
    lacking. spellings: tokens and joined words with the way in which they are written in lower
    case. content: how many tokens are no function words; all, where every one is.
    """

    tokens: tuple[str, ...]
    joined: frozenset[str]
    lacking: tuple[str, ...]
    spellings: Spellings
    content: int
    language: WordLanguage = ENGLISH

    @property
    def terms(self) -> frozenset[str]:
        """Its terms."""
        return frozenset(map(self.term_of, self.tokens + self.lacking))

    def term_of(self, word: str) -> str:
        """The term of a word or lack."""
        return word if word[0] in (LACKING, MAYBE_LACKING) else self.language.stem(word)


def analyze(text: str, language: WordLanguage = ENGLISH) -> Analysis:
    """Analyze a text."""
    return _analyze(text, language) if len(text) > LONGEST else _cached(text, language)


def _analyze(text: str, language: WordLanguage) -> Analysis:
    text_words = list(words(text, language=language))
    tokens = tuple(token.folded for word in text_words for token in word.tokens)
    several = [word for word in text_words if len(word.tokens) > 1]
    written = {
        token.folded: text[token.start : token.end].lower()
        for word in text_words
        for token in word.tokens
    } | {word.joined: text[word.start : word.end].lower() for word in several}
    lacks = {lack.place: lack for lack in find_lacks(text_words, language)}
    content = sum(1 for token in tokens if language.is_content(token))
    return Analysis(
        tokens,
        frozenset(word.joined for word in several),
        tuple(lack.sign + language.stem(tokens[lack.place]) for lack in lacks.values()),
        tuple((folded, spelling) for folded, spelling in written.items() if folded != spelling),
        content or len(tokens),
        language,
    )


_cached = lru_cache(2**12)(_analyze)
