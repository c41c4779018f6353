"""Reading of product queries: which words are asked for, which are not, and the text for photos."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from index.terms import spelled
from index.wording import MOST_CORRECTED, QueryWord, Wording
from models.lexicon import is_known
from models.negation import NEGATIONS, negations
from models.parsing import parse, refuse_huge
from models.queries import blanked
from models.types import Span

MINUS = re.compile(r"(?<!\S)-(?=\w)\S+")  # "-leather" in "sofa -leather"


@dataclass(frozen=True, slots=True)
class ProductText:
    """A text as it was understood: all spans point into `text`, as it was typed.

    asked: its words. refused: words that no item may have. corrected: with spellings as they are
    known; a photo is asked for this. length: how many words a field has that is all of the query.
    unknown: words that no item has. unsaid: the text as it was typed, where it has an English word
    that no item has; sentences are asked for this, as they may say it in other words. literal:
    whether a negation was taken by its words, as nothing else is asked for. checked: whether every
    unknown word was compared with those that items have.
    """

    text: str
    asked: tuple[QueryWord, ...] = ()
    refused: tuple[QueryWord, ...] = ()
    corrected: str = ""
    length: int = 0
    unknown: tuple[str, ...] = ()
    unsaid: str | None = None
    literal: bool = False
    checked: bool = True

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know."""
        corrected = {word.start: word for word in self.asked if word.spelling is not None}
        typed = [(self.text[word.start : word.end], word.spelling) for word in corrected.values()]
        notes = [f'"{was}" is taken for "{spelling}".' for was, spelling in typed]
        refused = dict.fromkeys(self.text[word.start : word.end] for word in self.refused)
        notes += [f'"{word}" is in no item.' for word in self.unknown]
        if not self.checked:
            notes.append(f"No more than {MOST_CORRECTED} unknown words are corrected.")
        if self.literal:
            notes.append("Nothing else is asked for: all words are searched for; -word leaves out.")
        return (*notes, *(f'Items with "{word}" are left out.' for word in refused))


def read_text(text: str, wording: Wording) -> ProductText:
    """Read a text with the vocabulary of some documents; ValueError for a huge one.

    A word behind a minus, or in a phrase that is negated ("without leather"), is refused; where
    nothing else is asked for, a negation is taken by its words ("no boundaries").
    """
    refuse_huge(text)
    corrections = wording.corrections(text)
    minus = [Span(*match.span()) for match in MINUS.finditer(text)]
    plain = blanked(text, minus)
    phrases, around = _negated(plain)
    query_words = wording.read(blanked(plain, around), corrections)
    literal = bool(phrases) and not query_words and not minus
    if literal:
        phrases, query_words = [], wording.read(plain, corrections)
    refused = [wording.read(_only(text, span), corrections) for span in [*minus, *phrases]]
    corrected = wording.corrected(plain, query_words)
    length = len(list(spelled(corrected)))
    without = "".join(f" without {text[span.start + 1 : span.end]}" for span in minus)
    words = tuple(word for group in refused for word in group)
    unknown = tuple(
        text[word.start : word.end]
        for word in query_words
        if not any(wording.has(alternative.term) for alternative in word.alternatives)
    )
    unsaid = None
    if any(_unsaid(text, word, unknown) for word in query_words):
        unsaid = " ".join((plain + without).split())
    rewritten = " ".join((corrected + without).split())
    return ProductText(
        text,
        query_words,
        words,
        rewritten,
        length,
        unknown,
        unsaid,
        literal,
        checked=corrections.complete,
    )


def _unsaid(text: str, word: QueryWord, unknown: Sequence[str]) -> bool:
    """Whether no item has an English word, unless as another one of nearly the same letters."""
    typed = text[word.start : word.end]
    halved = word.spelling is not None and " " in word.spelling
    return (typed in unknown or (word.spelling is not None and not halved)) and is_known(typed)


def _negated(text: str) -> tuple[list[Span], list[Span]]:
    """The negated phrases of a text, and all words that belong to them."""
    if not NEGATIONS & set(re.findall(r"\w+", text.casefold())):
        return [], []
    sentence = parse(text)
    negated = negations(sentence)
    around = [sentence.words[i].span for phrase in negated for i in phrase.words]
    return [phrase.span for phrase in negated], around


def _only(text: str, span: Span) -> str:
    """A text of the same length with nothing but a part."""
    return " " * span.start + text[span.start : span.end]
