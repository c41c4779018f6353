"""English words: function words, and all known words."""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache

from models import shipped

KNOWN = shipped.LEXICON


def split_words(words: str) -> frozenset[str]:
    """The words in a text, as a set."""
    return frozenset(words.split())


# Closed classes of English, as the tokenizer splits them: "dog's" is "dog" and "'s".
DETERMINERS = split_words(
    "a an the this that these those some any no every each either neither another other both all "
    "its his her their our my your whose which such"
)
PREPOSITIONS = split_words(
    "about above across after against along alongside amid among amongst around as at atop before "
    "behind below beneath beside besides between beyond by despite down during except for from in "
    "inside into like near next of off on onto opposite out outside over past per through "
    "throughout to toward towards under underneath until up upon via with within without"
)
AUXILIARIES = split_words(
    "am is are was were be been being have has had having do does did doing can could may might "
    "must shall should will would not"
)
CONJUNCTIONS = split_words(
    "and or but nor so yet if than then though although because since unless when whenever where "
    "wherever whereas whether while"
)
PRONOUNS = split_words(
    "i me you he him she it we us they them myself yourself himself herself itself ourselves "
    "themselves who whom what mine yours hers ours theirs there here someone somebody something "
    "anyone anybody anything everyone everybody everything one ones"
)
ENCLITICS = split_words("'s 're 've 'll 'd 'm n't nt")
FUNCTION_WORDS = DETERMINERS | PREPOSITIONS | AUXILIARIES | CONJUNCTIONS | PRONOUNS | ENCLITICS


def plain(word: str) -> str:
    """A word in lower case, with a straight apostrophe."""
    return word.lower().replace("’", "'")


def is_function_word(word: str) -> bool:
    """Return whether a word is a determiner, preposition, auxiliary, conjunction or pronoun."""
    return plain(word) in FUNCTION_WORDS


def is_enclitic(word: str) -> bool:
    """Return whether a word leans on the previous one ("'s", "n't")."""
    return plain(word) in ENCLITICS


Endings = tuple[tuple[str, tuple[str, ...]], ...]
# Endings of regular inflection and derivation, and their replacements in the stem.
PLURALS: Endings = (("s", ("",)), ("es", ("",)), ("ies", ("y",)), ("ves", ("f", "fe")))
ENDINGS: Endings = (
    *PLURALS,
    ("ed", ("", "e")),
    ("ied", ("y",)),
    ("ing", ("", "e")),
    ("ings", ("", "e")),
    ("er", ("", "e")),
    ("ers", ("", "e")),
    ("ier", ("y",)),
    ("est", ("", "e")),
    ("iest", ("y",)),
    ("ly", ("",)),
    ("ily", ("y",)),
    ("ness", ("",)),
    ("less", ("",)),
    ("like", ("",)),
    ("y", ("", "e")),
)
IRREGULAR = {
    "people": "person", "men": "man", "women": "woman", "children": "child", "mice": "mouse",
    "geese": "goose", "feet": "foot", "teeth": "tooth", "oxen": "ox",
}  # fmt: skip
LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i"})
# Letters of a compound and of each part; shorter ones would make words of keyboard noise.
LEAST_COMPOUND, LEAST_PART = 7, 3
LONGEST_COMPOUND = 100  # letters: a longer word is not cut


@cache
def known_words() -> frozenset[str]:
    """The shipped words, lower-cased; not all regular inflections and compounds are there."""
    return frozenset(gzip.decompress(KNOWN.read_bytes()).decode().split())


def is_latin(word: str) -> bool:
    """Return whether all letters of a word are Latin, with or without accents."""
    return all(unicodedata.name(c, "").startswith("LATIN") for c in word if c.isalpha())


def is_known(word: str) -> bool:
    """Return whether a word is English, a well-known name, or a number.

    Of a word with digits or a hyphen every run of letters has to be known; one or two letters
    next to a digit are ("4x4", "2nd"), and so is a single letter.
    """
    if is_function_word(word):
        return True
    if not is_latin(word):
        return False
    runs = re.findall("[a-z]+", without_accents(plain(word)))
    short = 2 if any(character.isdigit() for character in word) else 1
    return all(len(run) <= short or is_listed(run, known_words()) for run in runs)


def is_compound(word: str) -> bool:
    """Return whether a lower-case word is known as a compound of two others alone.

    >>> is_compound("umberella"), is_compound("umbrella")
    (True, False)
    """
    words = known_words()
    return is_listed(word, words) and word not in words and not is_inflected(word, words)


def is_common(word: str) -> bool:
    """Return whether a lower-case word or its singular is listed.

    >>> [is_common(word) for word in ("couch", "couches", "knives", "lether")]
    [True, True, True, False]
    """
    return word in known_words() or any(stem in known_words() for stem in stems(word, PLURALS))


def singulars(word: str) -> list[str]:
    """A lower-case word, and what it may be the plural of.

    >>> singulars("benches"), singulars("people"), singulars("bus")
    (['benches', 'benche', 'bench'], ['people', 'person'], ['bus', 'bu'])
    """
    irregular = [IRREGULAR[word]] if word in IRREGULAR else []
    return [word, *irregular, *stems(word, PLURALS)]


def without_accents(word: str) -> str:
    """A lower-case word in the letters a to z, where possible."""
    parts = unicodedata.normalize("NFKD", word.translate(LETTERS))
    return "".join(character for character in parts if not unicodedata.combining(character))


def is_listed(word: str, words: Collection[str]) -> bool:
    """Return whether a word is listed, an inflection, or a compound of two."""
    if word in words or is_inflected(word, words):
        return True
    cuts = range(LEAST_PART, len(word) - LEAST_PART + 1)
    return LEAST_COMPOUND <= len(word) <= LONGEST_COMPOUND and any(
        word[:cut] in words and (word[cut:] in words or is_inflected(word[cut:], words))
        for cut in cuts
    )


def is_inflected(word: str, words: Collection[str]) -> bool:
    """Return whether a word is a regular inflection or derivation of another."""
    return any(stem in words for stem in stems(word))


def stems(word: str, endings: Endings = ENDINGS) -> Iterator[str]:
    """Possible stems of a word: "running" and "run" of "running"."""
    for ending, replacements in endings:
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 2:
            continue
        yield from (stem + replacement for replacement in replacements)
        if len(stem) > 2 and stem[-1] == stem[-2]:
            yield stem[:-1]
