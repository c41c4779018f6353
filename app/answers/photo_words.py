"""Shares of words of metadata in scores, as JSON."""

from __future__ import annotations

from app.engine.engine import Engine
from app.engine.photo_search import read_words, score_words
from app.schemas.hits import WordBox, WordGave
from index.items import Item
from index.photos.words import PhotoWords
from models.text.queries import Query


def explain_words(
    engine: Engine, collection: str, name: str, text: str, query: Query
) -> list[WordGave]:
    """The shares of a stored item's words in its score."""
    item = engine.read(collection, engine.catalog.get, name)
    words = read_words(engine, collection, text)
    given = score_words(engine, words, item.revision, query)
    return words_out(words, item, given) if given else []


def words_out(words: PhotoWords, item: Item, given: float) -> list[WordGave]:
    """The shares of an item's words, and their places in its photos."""
    return [
        WordGave(
            word=part.word,
            field=part.field,
            gave=part.gave,
            boxes=[
                WordBox(photo=place.photo, box=place.corners)
                for place in words.find_places(part, item.metadata)
                if place.photo < len(item.photos)
            ],
        )
        for part in words.split(item.revision, given)
    ]
