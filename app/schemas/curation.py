"""Synonyms, pins and languages of collections: requests and answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from app.schemas.emoji import name_emoji
from app.schemas.fields import NAMES, SEARCH, ItemId, RequestBody, RequestPart
from index.documents.thesaurus import MOST_SYNONYMS

MOST_LINES = 1_000
MOST_PINNED = 20  # items of a text
Word = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(name_emoji)]
SynonymLines = Annotated[
    list[Annotated[list[Word], Field(min_length=2, max_length=MOST_SYNONYMS)]],
    Field(
        max_length=MOST_LINES,
        description="Words that are taken for each other, a list for each meaning.",
        examples=[[["sofa", "couch", "day bed"]]],
    ),
]


class SynonymsIn(RequestBody):
    """All synonyms of a collection; those before are replaced."""

    most_text = SEARCH
    synonyms: SynonymLines


class SynonymsOut(BaseModel):
    """The synonyms of a collection, besides those of TESSERA_SYNONYMS."""

    synonyms: list[list[str]]


class PinIn(RequestPart):
    """Pinned items of a text, in any case and punctuation."""

    text: Word
    ids: Annotated[list[ItemId], Field(min_length=1, max_length=MOST_PINNED)]


class PinsIn(RequestBody):
    """All pinned items of a collection; those before are replaced."""

    most_text = SEARCH
    pins: Annotated[list[PinIn], Field(max_length=MOST_LINES)]


class PinOut(BaseModel):
    """Pinned items of a text, in their order."""

    text: str
    ids: list[str]


class PinsOut(BaseModel):
    """The pinned items of a collection."""

    pins: list[PinOut]
    notes: list[str] = Field([], description="Which of the items are not stored.")


class LanguageIn(RequestBody):
    """The language of a collection's words."""

    most_text = NAMES
    language: Annotated[
        str,
        Field(
            min_length=2,
            max_length=3,
            description="A code of ISO 639 such as `de`; `und` for words as they are written.",
            examples=["de"],
        ),
    ]


class LanguageOut(BaseModel):
    """The language of a collection's words, English if none was chosen."""

    language: str
    name: str
