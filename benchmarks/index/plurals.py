"""Shares of plurals with the stem of their singular, by dictionaries.

    python -m benchmarks.index.plurals de es fr pt --forms 60000

Forms and their words are drawn from the dictionaries of simplemma. Counted are forms with the
first two letters of their word and at most three letters more; none of words that end as verbs do,
and in Romance languages only forms that end with s or x. The share of different stems tells how
many words a stem is shared by.
"""

from __future__ import annotations

import argparse
import random

from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

from index.documents.languages.snowball import find_language

VERBS = {
    "ca": ("ar", "er", "ir", "re"),
    "de": ("en", "ern", "eln"),
    "es": ("ar", "er", "ir", "se"),
    "fr": ("er", "ir", "re", "oir"),
    "nl": ("en",),
    "pt": ("ar", "er", "ir", "or"),
}
BY_S = frozenset({"ca", "es", "fr", "pt"})
LETTERS = range(3, 15)  # of a word


def draw_forms(code: str, count: int) -> list[tuple[str, str]]:
    """Draw forms of words, other than the words themselves."""
    dictionary = DefaultDictionaryFactory().get_dictionary(code)
    forms = [
        (str(form), str(word))
        for form, word in dictionary.items()
        if form != word and str(form).isalpha() and str(word).isalpha() and len(word) in LETTERS
    ]
    random.Random(0).shuffle(forms)
    return forms[:count]


def is_plural(code: str, form: str, word: str) -> bool:
    """Return whether a form may be its word's plural."""
    if word.lower().endswith(VERBS.get(code, ())) or not 0 <= len(form) - len(word) <= len("nen"):
        return False
    return form[:2].lower() == word[:2].lower() and (code not in BY_S or form[-1] in "sx")


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("codes", nargs="+", help="languages")
    parser.add_argument("--forms", type=int, default=60_000)
    asked = parser.parse_args()
    for code in asked.codes:
        language, forms = find_language(code), draw_forms(code, asked.forms)
        stems = {
            text: language.stem(language.fold(text))
            for text in {text for both in forms for text in both}
        }
        plurals = [both for both in forms if is_plural(code, *both)]
        together = sum(stems[form] == stems[word] for form, word in plurals)
        words = {word.lower(): stems[word] for _, word in forms}
        print(
            f"{code}: {together / len(plurals):.4f} of {len(plurals):,} plurals have the stem of "
            f"their singular; {len({*words.values()}) / len(words):.4f} of stems are different"
        )


if __name__ == "__main__":
    main()
