"""Alignments of METEOR 1.5: matching words of a caption and a reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import snowballstemmer

from training.evaluation.captions.meteor_data import Data, Phrase

EXACT, STEM, SYNONYM, PARAPHRASE = range(4)
COUNTED = (1.0, 0.5, 0.5, 0.5)  # weight of a matched word in the search, by kind
BEAM = 40
LONGEST = 7  # words of a phrase that has paraphrases


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A match of `length` reference words from `start` and `count` caption words."""

    kind: int
    start: int
    length: int
    first: int
    count: int

    @property
    def reference(self) -> int:
        """The places in the reference, as bits."""
        return ((1 << self.length) - 1) << self.start

    @property
    def caption(self) -> int:
        """The places in the caption, as bits."""
        return ((1 << self.count) - 1) << self.first


@dataclass(slots=True)
class AlignmentPath:
    """An alignment of the words so far, with its matches and rank.

    Words in use are bits. `end` is where the last match ends in the caption, -1 after a gap.
    """

    matches: dict[int, WordMatch]
    caption: int
    reference: int
    counted: int = 0  # matched words of both texts
    chunks: int = 0
    distance: int = 0
    next: int = 0
    end: int = -1

    @property
    def rank(self) -> tuple[int, int, int]:
        """More matches come first, then fewer chunks, then shorter distances."""
        return -self.counted, self.chunks, self.distance

    def follow(self, match: WordMatch) -> None:
        """Count a match at the next word."""
        weight = COUNTED[match.kind]
        # METEOR adds to integers: half a word alone counts nothing.
        self.counted += int(match.count * weight) + int(match.length * weight)
        self.chunks += self.end not in (-1, match.first)
        self.next, self.end = match.start + match.length, match.first + match.count

    def skip(self) -> None:
        """Leave the next word out."""
        self.chunks += self.end != -1
        self.next, self.end = self.next + 1, -1


class Aligner:
    """Aligns texts of words by METEOR's four kinds of matches (Denkowski & Lavie 2014)."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.stem = cache(snowballstemmer.stemmer("english").stemWord)
        self.meanings = cache(data.meanings)

    def align(
        self, caption: Sequence[str], reference: Sequence[str]
    ) -> tuple[list[WordMatch], int]:
        """Find the best alignment by a beam of 40.

        Returns its matches and number of chunks.
        """
        all_matches = list(self.matches(caption, reference))
        by_start = [
            [match for match in all_matches if match.start == at] for at in range(len(reference))
        ]
        path = resolve(by_start, match_definite(by_start, all_matches))
        return list(path.matches.values()), path.chunks

    def matches(self, caption: Sequence[str], reference: Sequence[str]) -> Iterator[WordMatch]:
        """Give all matches of all kinds; between equal texts only equal words."""
        yield from match_words(EXACT, caption, reference, lambda word, other: word == other)
        if caption == reference:
            return
        yield from match_words(STEM, caption, reference, self.same_stem)
        yield from match_words(SYNONYM, caption, reference, self.same_meaning)
        for start, phrase, first, replacement in self.find_paraphrases(reference, caption):
            yield WordMatch(PARAPHRASE, start, len(phrase), first, len(replacement))
        for first, phrase, start, replacement in self.find_paraphrases(caption, reference):
            yield WordMatch(PARAPHRASE, start, len(replacement), first, len(phrase))

    def same_stem(self, word: str, other: str) -> bool:
        """Return whether two different words have one stem."""
        return word != other and bool(self.stem(word) == self.stem(other))

    def same_meaning(self, word: str, other: str) -> bool:
        """Return whether two different words share a synset."""
        return word != other and not self.meanings(word).isdisjoint(self.meanings(other))

    def find_paraphrases(
        self, text: Sequence[str], other: Sequence[str]
    ) -> Iterator[tuple[int, Phrase, int, Phrase]]:
        """Give phrases with a paraphrase in another text.

        And both starts.
        """
        phrases = list(list_runs(other))
        for start, phrase in list_runs(text):
            if replacements := self.data.paraphrases.get(phrase):
                for place, words in phrases:
                    if words in replacements:
                        yield start, phrase, place, words


def list_runs(text: Sequence[str]) -> Iterator[tuple[int, Phrase]]:
    """Give every run of up to seven words, and its start."""
    for start in range(len(text)):
        for end in range(start + 1, min(start + LONGEST, len(text)) + 1):
            yield start, tuple(text[start:end])


def match_words(
    kind: int,
    caption: Sequence[str],
    reference: Sequence[str],
    is_match: Callable[[str, str], bool],
) -> Iterator[WordMatch]:
    """Matches of single words."""
    for start, word in enumerate(reference):
        for first, caption_word in enumerate(caption):
            if is_match(caption_word, word):
                yield WordMatch(kind, start, 1, first, 1)


def match_definite(
    by_start: Sequence[Sequence[WordMatch]], all_matches: Sequence[WordMatch]
) -> AlignmentPath:
    """Make the first path, with all matches without overlaps."""
    path = AlignmentPath({}, 0, 0)
    for at, matches in enumerate(by_start):
        if len(matches) == 1 and not any(
            overlaps(matches[0], other) for other in all_matches if other is not matches[0]
        ):
            path.matches[at] = matches[0]
            path.caption |= matches[0].caption
            path.reference |= matches[0].reference
    return path


def overlaps(match: WordMatch, other: WordMatch) -> bool:
    """Return whether two matches share a word."""
    return bool(match.caption & other.caption or match.reference & other.reference)


def resolve(by_start: Sequence[Sequence[WordMatch]], start: AlignmentPath) -> AlignmentPath:
    """Search the reference from left to right for the best path."""
    paths = [start]
    for at, matches in enumerate(by_start):
        paths = [following for path in keep_best(paths) for following in advance(path, at, matches)]
    complete = keep_best(paths)
    for path in complete:
        path.chunks += path.end != -1
    return keep_best(complete)[0]


def keep_best(paths: Sequence[AlignmentPath]) -> list[AlignmentPath]:
    """Keep the best paths of the beam, in order."""
    return sorted(paths, key=lambda path: path.rank)[:BEAM]


def advance(path: AlignmentPath, at: int, matches: Sequence[WordMatch]) -> Iterator[AlignmentPath]:
    """Give the continuations of a path at a word of the reference."""
    if path.reference >> at & 1:
        if at >= path.next:
            match = path.matches[at]
            path.follow(match)
            path.distance += abs(match.start - match.first)
        yield path
        return
    for match in matches:
        if path.caption & match.caption or path.reference & match.reference:
            continue
        extended = replace(
            path,
            matches=path.matches | {at: match},
            caption=path.caption | match.caption,
            reference=path.reference | match.reference,
        )
        extended.follow(match)
        # As in METEOR, whose alternatives to a match carry its distance.
        path.distance += abs(match.start - match.first)
        yield extended
    path.skip()
    yield path
