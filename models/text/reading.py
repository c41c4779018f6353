"""Reading of a text: what it asks for, what it negates, and which words no model knows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from models.text.lexicon import is_compound, is_function_word, is_known, is_latin, plain
from models.text.negation import Negated, list_unread, negations
from models.text.parsing import parse
from models.text.things import NamedThing, find_things
from models.types import Span, Word

LETTER = re.compile(r"\w")
ENGLISH = "negation is understood in English, and with a minus before a word."
NOTHING_KNOWN = "No word of the query is known, so there is nothing to search for."


@dataclass(frozen=True, slots=True)
class Reading:
    """The text to ask for, if any, and the negated phrases.

    These texts are as long as the whole and blank elsewhere, so that spans fit both. `named` are
    the things that it asks for, if it asks for nothing else.
    """

    asked: str | None
    negated: tuple[str, ...]
    notes: tuple[str, ...]
    named: tuple[NamedThing, ...] = ()


def read(
    text: str,
    known: Collection[str] = (),
    *,
    any_word: bool = False,
    things: Collection[str] = (),
) -> Reading:
    """Find negated phrases and things, and leave out the words that no model knows.

    `known` are further known words, lower-cased; with `any_word` all are. `things` are names in
    the singular. Raises ValueError for a text without words, or with too many.
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
    notes = (
        [f'"{word}" is searched for like any word: {ENGLISH}' for word in list_unread(sentence)]
        if any_word
        else why_left_out([words[i] for i in sorted(unknown)], text)
    )
    notes += [f'Negation: photos with "{negated.phrase(text)}" come later.' for negated in denied]
    remaining: str | None = blank(text, [words[i].span for i in left_out])
    if left_out and not any(has_content(word) for i, word in enumerate(words) if i not in left_out):
        remaining = None
        notes += [] if denied else [NOTHING_KNOWN]
    gone = [words[i].span for i in sorted(unknown)]
    staying = [word for i, word in enumerate(words) if i not in left_out]
    return Reading(
        remaining,
        tuple(blank(alone(negated, text), gone) for negated in denied),
        tuple(dict.fromkeys(notes)),
        find_things(text, staying, things) if things and remaining is not None else (),
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


def find_doubtful(text: str, known: Collection[str] = ()) -> list[str]:
    """The words of a text that no model knows, or as a compound alone, as they are typed."""
    return [
        word.text
        for word in parse(text).words
        if not knows(word, known)
        or (plain(word.text) not in known and is_compound(plain(word.text)))
    ]


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
