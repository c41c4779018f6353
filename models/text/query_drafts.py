"""Queries read from texts: drafts of their parts, embedded together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from models.registry import Matcher
from models.text.limits import refuse_many
from models.text.parsing import parse
from models.text.queries import Query
from models.text.reading import (
    NOTHING_KNOWN,
    Reading,
    find_doubtful,
    has_content,
    read,
    read_whole,
)
from models.text.spelling import Correction, correct
from models.text.things import Condition, ThingsJudge, find_things
from models.types import FragmentBag, Span

# What a negated phrase takes from the score, as a share of what it would give if it were asked for.
# Measured by benchmarks/models/negation.py, see docs/decisions/models/0007-negation-by-rules.md.
NEGATED = 0.5
MOST_PARTS = 100  # of a query: each is searched, and explained, by itself


@dataclass(frozen=True, slots=True)
class Reader:
    """How texts are read: whole, as stored sentences are, and with their spelling corrected."""

    whole: bool = False
    spelling: bool = False

    def read(
        self, text: str, known: Collection[str], things: Collection[str], *, any_word: bool
    ) -> Reading:
        """What a text asks for and negates; errors are those of `read`."""
        if self.whole:
            return read_whole(text, known, any_word=any_word)
        return read(text, known, any_word=any_word, things=things)

    def correct(
        self, text: str, known: Collection[str], things: Collection[str], *, any_word: bool
    ) -> tuple[str, tuple[Correction, ...]]:
        """A text with unknown words corrected, as far as that is wanted and known ones are near."""
        if any_word or not self.spelling:
            return text, ()
        return correct(text, find_doubtful(text, known), things)


READER = Reader()


def of_phrases(
    matcher: Matcher, weighted: Sequence[tuple[str, float]], known: Collection[str] = ()
) -> Query:
    """Phrases as one query, whose text is theirs joined by ", "; errors are those of `read`."""
    return of_several(matcher, [weighted], known)[0]


def of_several(
    matcher: Matcher,
    weighted_lists: Sequence[Sequence[tuple[str, float]]],
    known: Collection[str] = (),
    judge: ThingsJudge | None = None,
    reader: Reader = READER,
) -> list[Query]:
    """Several queries, each as `of_phrases` makes it, embedded at once.

    With a judge they are for photos: negated phrases, and texts of nothing but things, ask whether
    things are there.
    """
    drafts = [
        QueryDraft.of(weighted, known, judge, reader, any_word=matcher.any_word)
        for weighted in weighted_lists
    ]
    return embed_drafts(matcher, drafts, judge)


def of_things(
    matcher: Matcher, texts: Sequence[str], known: Collection[str], judge: ThingsJudge
) -> list[Query]:
    """Queries that ask whether what each text says is there; errors are those of `read`."""
    drafts = [QueryDraft.of_thing(text, known, judge, any_word=matcher.any_word) for text in texts]
    return embed_drafts(matcher, drafts, judge)


def embed_drafts(
    matcher: Matcher, drafts: Sequence[QueryDraft], judge: ThingsJudge | None
) -> list[Query]:
    """The queries of drafts, embedded at once."""
    texts = [part.text for draft in drafts for part in draft.parts]
    bags = iter(matcher.embed_sentences(texts) if texts else ())
    return [draft.query([next(bags) for _ in draft.parts], judge) for draft in drafts]


@dataclass(frozen=True, slots=True)
class PartDraft:
    """A part of a query that is not embedded yet: its text, weight and place.

    `text` starts at `start` in the query's. If it asks whether a thing is there, `thing` is the
    query's part for that thing.
    """

    text: str
    weight: float
    start: int = 0
    thing: Span | None = None

    def part(
        self, bag: FragmentBag, judge: ThingsJudge | None
    ) -> tuple[FragmentBag, Condition | None]:
        """The part of the text's bag."""
        if self.thing is None or judge is None:
            return move(bag, self.start), None
        asked, condition = judge.ask(bag)
        return replace(asked, places=(self.thing,)), condition


@dataclass(frozen=True, slots=True)
class QueryDraft:
    """A query whose parts are not embedded yet."""

    parts: tuple[PartDraft, ...]
    text: str
    notes: tuple[str, ...]
    spellings: tuple[Correction, ...] = ()
    typed: str | None = None

    @classmethod
    def of(
        cls,
        weighted: Sequence[tuple[str, float]],
        known: Collection[str],
        judge: ThingsJudge | None,
        reader: Reader,
        *,
        any_word: bool,
    ) -> QueryDraft:
        """Phrases with their weights, read; ValueError as `read` raises it, and for too many."""
        if len(weighted) > 1:
            refuse_many([phrase for phrase, _ in weighted])
        typed = [phrase for phrase, _ in weighted]
        things = judge.things if judge else ()
        corrected = [reader.correct(text, known, things, any_word=any_word) for text in typed]
        readings = [reader.read(text, known, things, any_word=any_word) for text, _ in corrected]
        only_things = all(reading.named or reading.asked is None for reading in readings)
        parts, start = list[PartDraft](), 0
        for (text, _), (_, weight), reading in zip(corrected, weighted, readings, strict=True):
            parts += draft_asked(reading, weight, start, named=only_things)
            parts += draft_negated(reading, weight, start, judge)
            start += len(text) + len(", ")
        if len(parts) > MOST_PARTS:
            raise ValueError(
                f"the query has {len(parts)} phrases, negated ones included; "
                f"send at most {MOST_PARTS}"
            )
        notes = dict.fromkeys(chain.from_iterable(reading.notes for reading in readings))
        notes.pop(NOTHING_KNOWN, None)  # of one phrase, perhaps not of all
        spellings = place_spellings(typed, [found for _, found in corrected])
        return cls(
            (*parts,),
            ", ".join(text for text, _ in corrected),
            (*(spelled.note for spelled in spellings), *notes),
            spellings,
            ", ".join(typed) if spellings else None,
        )

    @classmethod
    def of_thing(
        cls, text: str, known: Collection[str], judge: ThingsJudge, *, any_word: bool
    ) -> QueryDraft:
        """A text that asks whether one thing is there, and others are not."""
        reading = read(text, known, any_word=any_word)
        asked = [] if reading.asked is None else [draft_thing(reading.asked, 1.0, 0, judge)]
        return cls((*asked, *draft_negated(reading, 1.0, 0, judge)), text, reading.notes)

    def query(self, bags: Sequence[FragmentBag], judge: ThingsJudge | None) -> Query:
        """The query of the texts' bags."""
        made = [part.part(bag, judge) for part, bag in zip(self.parts, bags, strict=True)]
        return Query(
            tuple(bag for bag, _ in made),
            tuple(part.weight for part in self.parts),
            self.text,
            self.notes if made else (*self.notes, NOTHING_KNOWN),
            tuple(condition for _, condition in made),
            self.spellings,
            self.typed,
        )


def draft_asked(reading: Reading, weight: float, start: int, *, named: bool) -> list[PartDraft]:
    """The parts for what a text asks for: its things, if it is named by them, or all of it."""
    if reading.asked is None:
        return []
    if not (named and reading.named):
        return [PartDraft(reading.asked, weight, start)]
    return [
        PartDraft(thing.name, weight, start, shift(thing.span, start)) for thing in reading.named
    ]


def draft_negated(
    reading: Reading, weight: float, start: int, judge: ThingsJudge | None
) -> Iterator[PartDraft]:
    """The parts for what a text negates."""
    for phrase in reading.negated:
        if judge is None:
            yield PartDraft(phrase, -NEGATED * weight, start)
        else:
            yield draft_thing(phrase, -weight, start, judge)


def draft_thing(phrase: str, weight: float, start: int, judge: ThingsJudge) -> PartDraft:
    """A part that asks for a phrase, under the known name of its thing if it is no more."""
    words = parse(phrase).words
    content = [word for word in words if has_content(word)] or words
    span = Span(content[0].span.start, content[-1].span.end)
    things = find_things(phrase, words, judge.things)
    name = things[0].name if len(things) == 1 else span.of(phrase)
    return PartDraft(name, weight, start, shift(span, start))


def place_spellings(
    phrases: Sequence[str], found: Sequence[Sequence[Correction]]
) -> tuple[Correction, ...]:
    """The spellings of each phrase, with their places among phrases joined by ", "."""
    placed, start = list[Correction](), 0
    for phrase, spellings in zip(phrases, found, strict=True):
        placed += [
            replace(spelling, start=spelling.start + start, end=spelling.end + start)
            for spelling in spellings
        ]
        start += len(phrase) + len(", ")
    return tuple(placed)


def shift(span: Span, by: int) -> Span:
    """A span of a text that starts so many characters into another."""
    return Span(span.start + by, span.end + by)


def move(bag: FragmentBag, by: int) -> FragmentBag:
    """A bag of a text that starts so many characters into another."""
    spans = tuple(shift(place, by) for place in bag.places if isinstance(place, Span))
    return replace(bag, places=spans)
