"""Words of scripts that put no space between them, by BudouX.

Its models are small classifiers of the place between two characters, learned by its authors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import regex

# Scripts that put no space between words.
SPACELESS = r"[\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{Thai}\p{Laoo}\p{Khmr}\p{Mymr}]"
DIVIDED = regex.compile(r"[\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{Thai}]")  # there are models
KANA, THAI = regex.compile(r"[\p{Hira}\p{Kana}]"), regex.compile(r"\p{Thai}")
# Letters and digits of one kind of script: "iPhone手机" are two words.
WORD = regex.compile(
    rf"(?P<spaceless>(?:[{SPACELESS}&&\p{{L}}]\p{{M}}*)+)|[[\p{{L}}\p{{N}}]--{SPACELESS}]+\p{{M}}*",
    regex.V1,
)


def is_spaceless(text: str) -> bool:
    """Return whether a text has characters of scripts that are divided here."""
    return DIVIDED.search(text) is not None


def divide(run: str, language: str) -> Iterator[tuple[int, str]]:
    """The words of a run without spaces, each with its start.

    >>> [word for _, word in divide("红色的汽车停在路边", "zh-hans")]
    ['红色', '的', '汽车', '停', '在', '路边']
    """
    for word in WORD.finditer(run):
        start = word.start()
        for piece in parser(language)(word.group()) if word["spaceless"] else [word.group()]:
            yield start, piece
            start += len(piece)


def guess_language(text: str) -> str:
    """The language of a text without spaces: kana are Japanese, other Han characters Chinese.

    >>> [guess_language(text) for text in ("赤い車", "红色的汽车", "รถสีแดง")]
    ['ja', 'zh-hans', 'th']
    """
    if KANA.search(text):
        return "ja"
    return "th" if THAI.search(text) else "zh-hans"  # whose model reads traditional texts as well


@cache
def parser(language: str) -> Callable[[str], list[str]]:
    """The function that divides texts of a language, loaded once."""
    import budoux

    load = {
        "ja": budoux.load_default_japanese_parser,
        "th": budoux.load_default_thai_parser,
        "zh-hans": budoux.load_default_simplified_chinese_parser,
    }
    divide_text: Callable[[str], list[str]] = load[language]().parse
    return divide_text
