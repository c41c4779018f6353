"""Reading of product queries: which words are asked for, which are not, and the text for photos."""

from __future__ import annotations

import re
from dataclasses import dataclass

from index.documents import Documents
from index.terms import spelled
from index.wording import QueryWord
from models.negation import NEGATIONS, negations
from models.parsing import parse
from models.queries import blanked
from models.types import Span

MINUS = re.compile(r"(?<!\S)-(?=\w)\S+")  # "-leather" in "sofa -leather"


@dataclass(frozen=True, slots=True)
class ProductText:
    """A text as it was understood: all spans point into `text`, as it was typed.

    asked: its words. refused: words that no item may have. corrected: with spellings as they are
    known; a photo is asked for this. length: how many words a field has that is all of the query.
    unknown: words that no item has.
    """

    text: str
    asked: tuple[QueryWord, ...] = ()
    refused: tuple[QueryWord, ...] = ()
    corrected: str = ""
    length: int = 0
    unknown: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know."""
        told = {word.start: word for word in self.asked if word.spelling is not None}
        typed = [(self.text[word.start : word.end], word.spelling) for word in told.values()]
        notes = [f'"{was}" is taken for "{spelling}".' for was, spelling in typed]
        refused = dict.fromkeys(self.text[word.start : word.end] for word in self.refused)
        notes += [f'"{word}" is in no item.' for word in self.unknown]
        return (*notes, *(f'Items with "{word}" are left out.' for word in refused))


def read_text(text: str, documents: Documents) -> ProductText:
    """Read a text with the vocabulary of some documents, under their lock.

    A word behind a minus, or in a phrase that is negated ("without leather"), is refused; where
    nothing else is asked for, a negation is taken by its words ("no boundaries").
    """
    wording = documents.wording
    minus = [Span(*match.span()) for match in MINUS.finditer(text)]
    plain = blanked(text, minus)
    phrases, around = _negated(plain)
    asked = wording.read(blanked(plain, around))
    if not asked and not minus:
        phrases, asked = [], wording.read(plain)
    refused = [wording.read(_only(text, span)) for span in [*minus, *phrases]]
    corrected = wording.corrected(plain, asked)
    length = len(list(spelled(corrected)))
    without = "".join(f" without {text[span.start + 1 : span.end]}" for span in minus)
    words = tuple(word for group in refused for word in group)
    unknown = tuple(
        text[word.start : word.end]
        for word in asked
        if not any(one.term in documents.lexical.having for one in word.alternatives)
    )
    return ProductText(text, asked, words, (corrected + without).strip(), length, unknown)


def _negated(text: str) -> tuple[list[Span], list[Span]]:
    """The negated phrases of a text, and all words that belong to them."""
    if not NEGATIONS & set(re.findall(r"\w+", text.casefold())):
        return [], []
    sentence = parse(text)
    found = negations(sentence)
    around = [sentence.words[i].span for one in found for i in one.words]
    return [one.span for one in found], around


def _only(text: str, span: Span) -> str:
    """A text of the same length with nothing but a part."""
    return " " * span.start + text[span.start : span.end]
