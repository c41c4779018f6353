"""Small answers of tools: hits with their proof, and little metadata."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.agents.pictures import Illustration
from app.schemas.hits import (
    ImageHit,
    LinkOut,
    PhraseOut,
    QueryOut,
    SearchedOut,
    SentenceHit,
    WordGave,
)
from app.schemas.products import PartOut, ProductHit
from app.schemas.regions import RegionHit

MOST_BYTES = 600  # of the metadata that a hit carries, and of its sentences
MOST_LINKS = 6  # of a hit without words; what the others gave is added up
OF_PHOTOS = ("looks", "likeness", "boost")  # parts of a product's score that no word gave

Hit = ImageHit | RegionHit | SentenceHit | ProductHit
Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer of a tool: fields, and pictures in their named order."""

    fields: Fields
    pictures: tuple[Illustration, ...] = field(default=())

    def text(self) -> str:
        """The fields as JSON, without empty ones."""
        filled = {name: value for name, value in self.fields.items() if value not in (None, [], {})}
        return json.dumps(filled, ensure_ascii=False, separators=(",", ":"))


def describe_hit(hit: Hit, keys: Sequence[str] | None, weak_below: float | None) -> Fields:
    """A hit's id, probability and proof, and some of its metadata."""
    probability = hit.probability
    fields: Fields = {"id": hit.id, "score": _round(hit.score)}
    if probability is not None:
        fields["probability"] = _round(probability)
        if weak_below is not None and probability < weak_below and not _is_named(hit):
            fields["weak"] = True
    if not isinstance(hit, SentenceHit):
        fields |= {"photo": hit.photo} if hit.photo else {}
        fields |= {"second": hit.second} if hit.second is not None else {}
    if isinstance(hit, SentenceHit):
        fields["sentence"] = hit.sentence
    if isinstance(hit, RegionHit):
        fields |= {"box": _box(hit.box), "crop": hit.crop}
    fields["proof"] = prove(hit)
    fields["image"] = hit.image
    return fields | _shorten(hit, keys)


def _is_named(hit: Hit) -> bool:
    """Return whether words found a product."""
    return isinstance(hit, ProductHit) and any(part.kind not in OF_PHOTOS for part in hit.parts)


def prove(hit: Hit) -> list[Fields]:
    """The terms of a hit's score, with their gains."""
    if isinstance(hit, ProductHit):
        return [_describe_part(part) for part in hit.parts]
    proof = prove_phrases(hit.phrases) if hit.phrases else _prove_links(hit.links)
    words = hit.words if isinstance(hit, ImageHit) else []
    return proof + prove_words(words)


def prove_words(words: Iterable[WordGave]) -> list[Fields]:
    """What words of an item's metadata gave."""
    return [{"word": part.word, "field": part.field, "gave": _round(part.gave)} for part in words]


def prove_phrases(phrases: Iterable[PhraseOut]) -> list[Fields]:
    """The gain of each phrase, and its box: left, top, right, bottom."""
    return [
        {
            "words": phrase.text,
            "gave": _round(phrase.similarity),
            **({} if phrase.box is None else {"box": _box(phrase.box)}),
            **({"negated": True} if phrase.negated else {}),
        }
        for phrase in phrases
    ]


def describe_query(query: QueryOut, searched: SearchedOut | None = None) -> Fields:
    """The query as understood: corrections, dates and notes."""
    fields: Fields = {}
    if query.corrected is not None:
        fields["read_as"] = query.corrected
    if query.filters:
        fields["dates"] = [f"{part.text}: {part.words}" for part in query.filters]
    notes = list(query.notes)
    if searched is not None:
        notes += note_gaps(searched.behind, searched.complete, searched.damaged)
    return fields | {"notes": notes}


def note_gaps(behind: int, complete: bool, damaged: Sequence[str]) -> list[str]:
    """Write notes on parts left out of a search."""
    notes = [f"{behind} changes are not searched yet"] if behind else []
    notes += [] if complete else ["a part of the collection was not reached"]
    return notes + ([f"damaged and left out: {', '.join(damaged)}"] if damaged else [])


def _prove_links(links: Sequence[LinkOut]) -> list[Fields]:
    """The largest terms of a score, and the sum of others."""
    largest = sorted(links, key=lambda link: -abs(link.similarity))
    proof: list[Fields] = [
        {"part": link.label, "gave": _round(link.similarity)}
        | ({} if link.box is None else {"box": _box(link.box)})
        for link in largest[:MOST_LINKS]
    ]
    others = largest[MOST_LINKS:]
    if others:
        gave = sum(link.similarity for link in others)
        proof.append({"part": f"{len(others)} others", "gave": _round(gave)})
    return proof


def _describe_part(part: PartOut) -> Fields:
    fields: Fields = {"part": part.kind, "gave": _round(part.gave)}
    named = {"field": part.field, "word": part.word}
    fields |= {name: value for name, value in named.items() if value is not None}
    proof = prove_phrases(part.phrases) or _prove_links(part.links)
    return fields | ({"proof": proof} if proof else {})


def _shorten(hit: Hit, keys: Sequence[str] | None) -> Fields:
    """Cut a hit's metadata and sentences, and name the rest."""
    if keys is not None:
        chosen = {key: hit.metadata[key] for key in keys if key in hit.metadata}
        return {"metadata": chosen} if chosen else {}
    metadata, left_out = cut_metadata(hit.metadata)
    fields: Fields = {"metadata": metadata} if metadata else {}
    if not isinstance(hit, SentenceHit):
        sentences = list(_take(hit.sentences, MOST_BYTES))
        fields |= {"sentences": sentences} if sentences else {}
        if len(sentences) < len(hit.sentences):
            left_out = [*left_out, f"{len(hit.sentences) - len(sentences)} sentences"]
    return fields | ({"left_out": left_out} if left_out else {})


def cut_metadata(metadata: Mapping[str, Any]) -> tuple[Fields, list[str]]:
    """Keep the first values within the limit; also the other keys."""
    fitting: Fields = {}
    left, left_out = MOST_BYTES, list[str]()
    for key, value in metadata.items():
        size = len(json.dumps({key: value}, ensure_ascii=False).encode(errors="replace"))
        if size <= left:
            fitting[key], left = value, left - size
        else:
            left_out.append(key)
    if len(left_out) > MOST_LINKS:
        left_out = [*left_out[:MOST_LINKS], f"{len(left_out) - MOST_LINKS} more keys"]
    return fitting, left_out


def _take(texts: Iterable[str], most: int) -> Iterable[str]:
    for text in texts:
        most -= len(text.encode(errors="replace"))
        if most < 0:
            return
        yield text


def _box(box: Sequence[float]) -> list[float]:
    return [round(edge, 3) for edge in box]


def _round(number: float) -> float:
    return round(number, 4)
