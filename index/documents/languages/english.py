"""English, the language of a collection that has none."""

from __future__ import annotations

from index.documents.characters import fold
from index.documents.languages.spellings import variants
from index.documents.languages.stems import stem
from index.documents.languages.word_language import WordLanguage
from models.text.lexicon import is_common, is_function_word

LONG = 8  # letters from which a common word may be a misspelling of another one


def is_trusted(folded: str) -> bool:
    """Return whether a word is short and English.

    Near ones are other words: "sofa" is not "soft".
    """
    return len(folded) < LONG and is_common(folded)


def name_lacking(word: str) -> list[str]:
    """List words for things without the thing of a word.

    >>> name_lacking("salt")
    ['saltless', 'unsalted']
    """
    names = [word, word.removesuffix("s")] if word.endswith("s") else [word]
    return [name + "less" for name in names] + [f"un{name}ed" for name in names]


ENGLISH = WordLanguage(
    "en",
    "English",
    fold=fold,
    plain=lambda folded: folded,
    stem=stem,
    is_function_word=is_function_word,
    without=frozenset({"no", "non", "without", "zero"}),
    is_trusted=is_trusted,
    free=frozenset({"free"}),
    variants=variants,
    name_lacking=name_lacking,
    has_accents=False,
    negates=True,
)
