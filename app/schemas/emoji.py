"""Emoji of a query, read as their names in Unicode's English."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby
from typing import Annotated

import emoji
import regex
from pydantic import AfterValidator, Field

from models.text.limits import LONGEST_TEXT

# What people say otherwise than Unicode does; nothing for signs at the side of what is said.
SAID = {
    "automobile": "car",
    "oncoming automobile": "car",
    "hot beverage": "cup of coffee",
    "teacup without handle": "cup of tea",
    "face with tears of joy": "laughing face",
    "female sign": "woman",
    "high voltage": "lightning",
    "jack-o-lantern": "pumpkin",
    "laptop computer": "laptop",
    "locomotive": "train",
    "male sign": "man",
    "mobile phone": "phone",
    "person biking": "cyclist",
    "sauropod": "dinosaur",
    "snowman without snow": "snowman",
    "sport utility vehicle": "car",
    "t-rex": "dinosaur",
    "water wave": "wave",
    "heart suit": "heart",
    "multiply": "x",
    "check box with check": "",
    "hollow red circle": "",
}
ASIDE = regex.compile(r" (?:arrow|button|mark|small square)$")  # of signs at the side of texts
JOINER, MOST_JOINERS = "\u200d", 200  # of the latter each takes longer to read
TONE = regex.compile(r"_(?:medium-)?(?:light|medium|dark)_skin_tone")
ANIMALS = regex.compile("[\U0001f42d-\U0001f43c\U0001f981-\U0001f993]")  # by their faces
# Two letters of a region, or a black flag with the letters of a part of one.
FLAGS = regex.compile("[\U0001f1e6-\U0001f1ff]{2}|\U0001f3f4[\U000e0020-\U000e007f]+")
EDGE = "\0"  # of a name: a space, unless a mark goes on with it
JOINED = regex.compile(rf"""(?<=[-−("'“„«]){EDGE}|{EDGE}(?=[-−,.;:!?)"'”])""")


def name_emoji(text: str, *, flags: bool = False) -> str:
    """Replace each emoji of a text by its name.

    Equal ones in a row are named once, without their skin tones. A flag is its country; with
    `flags` it is a flag of it, where no words are next to it.

    >>> name_emoji("🐶🐶on grass, 👍🏽"), name_emoji("🇫🇷"), name_emoji("👨‍🍳")
    ('dog on grass, thumbs up', 'France', 'man cook')
    >>> name_emoji("🇫🇷", flags=True), name_emoji("made in 🇫🇷", flags=True)
    ('flag of France', 'made in France')
    """
    if text.isascii() or len(text) > LONGEST_TEXT or text.count(JOINER) > MOST_JOINERS:
        return text
    flag = "flag of {}" if flags and not any(map(str.isalpha, text)) else "{}"
    named = "".join(piece for piece, _ in groupby(_name_pieces(text, flag)))
    if EDGE not in named:
        return text
    return " ".join(JOINED.sub("", named).replace(EDGE, " ").split()) or text


def _name_pieces(text: str, flag: str) -> Iterator[str]:
    """The names of emoji between edges, and the texts between them."""
    between = ""
    for token in emoji.analyze(text, non_emoji=True, join_emoji=False):
        match = token.value
        name = None if isinstance(match, str) else _name(match, flag)
        if name is None:
            between += token.chars
            continue
        if between.strip():
            yield between
        between = ""
        yield f"{EDGE}{name}{EDGE}"
    yield between


def _name(match: emoji.EmojiMatch, flag: str) -> str | None:
    """An emoji's name; None for signs of texts and keys of numbers."""
    data = match.data or {}
    name = TONE.sub("", "_" + data.get("en", "").strip(":")).strip("_").replace("_", " ")
    as_text = len(match.emoji) == 1 and data.get("status") != emoji.STATUS["fully_qualified"]
    if as_text or name.startswith("keycap "):
        return None
    if FLAGS.fullmatch(match.emoji):
        return flag.format(name)
    name = SAID.get(name.lower(), "" if ASIDE.search(name) else name)
    name = "family" if name.startswith("family ") else name
    return name.removesuffix(" face") if ANIMALS.match(match.emoji) else name


NamedText = Annotated[str, AfterValidator(name_emoji)]
PhotoText = Annotated[str, AfterValidator(partial(name_emoji, flags=True))]
SEARCHED = Field(description='What is searched for. Emoji are read as their names: "🐶" is "dog".')
QueryText = Annotated[PhotoText, SEARCHED]
ProductText = Annotated[NamedText, SEARCHED]
