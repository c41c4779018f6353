"""What words a text has: the only import of spaCy."""

from __future__ import annotations

from functools import cache

import spacy
from spacy.language import Language

from models.types import ParsedSentence, Span, Word

MOST_WORDS = 200


@cache
def tokenizer() -> Language:
    """The rule-based English tokenizer, made once."""
    return spacy.blank("en")


def parse(text: str) -> ParsedSentence:
    """Split a text into words; punctuation is no word.

    Raises ValueError for a text without a word, or with more than MOST_WORDS.
    """
    # A cheap count first, so that a huge text is refused before it is tokenized.
    if len(text) > 40 * MOST_WORDS or len(text.split()) > MOST_WORDS:
        raise ValueError(
            f"the text has {len(text.split()):,} words and {len(text):,} characters; "
            f"send a sentence of at most {MOST_WORDS} words"
        )
    words = tuple(
        Word(token.text, Span(token.idx, token.idx + len(token.text)))
        for token in tokenizer().make_doc(text)
        if any(character.isalnum() for character in token.text)
    )
    if not words:
        raise ValueError("the text has no words; describe what the photo should show")
    if len(words) > MOST_WORDS:
        raise ValueError(f"the text has {len(words)} words; send at most {MOST_WORDS}")
    return ParsedSentence(text, words)
