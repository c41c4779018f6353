"""Groundings: the boxes that phrases of a text mean in a photo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.engine.inference import Models
from app.telemetry.requests import stage
from models.scores.presence import Verdict, judge_photo
from models.text import query_drafts, reading
from models.text.limits import refuse_huge, refuse_many
from models.text.noun_phrases import noun_phrases
from models.text.queries import Query
from models.types import Box, FragmentBag, Span
from models.vision.images import Photo


class NoGrounder(LookupError):
    """No grounder is loaded."""


@dataclass(frozen=True, slots=True)
class GroundedPhrase:
    """A phrase of a text, and the boxes that it means most likely, best first.

    A phrase that is not there has no boxes. `probability` is that of its being there, where it is
    as likely as not; None where that is unknown, and the boxes say where it would be.
    """

    span: Span
    boxes: tuple[tuple[Box, float], ...]  # with their similarities
    probability: float | None = None

    @property
    def present(self) -> bool:
        """Whether the photo shows the phrase."""
        return bool(self.boxes)


def ground(
    models: Models,
    photo: Photo,
    text: str,
    phrases: Sequence[str] | None = None,
    *,
    count: int,
    bag: FragmentBag | None = None,
) -> list[GroundedPhrase]:
    """Find the `count` likeliest boxes of a photo for each phrase of a text.

    Without phrases, those of its noun phrases, or of all of it where it names nothing. `bag` is
    the photo's, where it is known. A phrase that the photo does not show, or of which
    no word is known, gets no boxes. ValueError for a phrase that is not in the text,
    NoGrounder where none is loaded.
    """
    if models.grounder is None:
        raise NoGrounder("no grounder is loaded; set TESSERA_GROUNDER to a checkpoint")
    if phrases is None:
        spans = noun_phrases(text) or [Span(0, len(text))]
    else:
        refuse_huge(text)
        refuse_many(phrases)
        spans = [reading.find_phrase(text, phrase) for phrase in phrases]
    with stage("ground"):
        boxes, similarities = models.grounder.locate(photo.pixels, text, spans)
    if models.presence is not None:
        bag = bag or models.photo(photo)
    verdicts = _judge(models, bag, [span.of(text) for span in spans])
    grounded = []
    for span, row, verdict in zip(spans, similarities, verdicts, strict=True):
        best = row.topk(min(count, len(boxes)))
        ranked = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        likely = tuple((Box(*boxes[at].tolist()), similarity) for at, similarity in ranked)
        grounded.append(GroundedPhrase(span, likely if verdict.there else (), verdict.confidence))
    return grounded


def _judge(models: Models, bag: FragmentBag | None, texts: Sequence[str]) -> list[Verdict]:
    """Judge whether a photo shows what each text says; without a presence it may."""
    different = list(dict.fromkeys(texts))
    with stage("embed_text"):
        if models.presence is not None:
            asked = query_drafts.of_things(models.matcher, different, models.words, models.presence)
        else:
            texts_alone = [[(text, 1.0)] for text in different]
            asked = query_drafts.of_several(models.matcher, texts_alone, known=models.words)
    query_of = dict(zip(different, asked, strict=True))
    return [_judge_query(models, bag, query_of[text]) for text in texts]


def _judge_query(models: Models, bag: FragmentBag | None, query: Query) -> Verdict:
    if bag is None or models.presence is None:
        return Verdict(bool(query.parts), None)
    return judge_photo(bag, query, models.matcher.score)
