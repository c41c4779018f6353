"""Content words of captions: their places, their judges, and their phrases."""

from __future__ import annotations

from collections.abc import Sequence

from models.registry import Caption, CaptionWord
from models.scores.alignment import Phrase
from models.text.lexicon import is_function_word
from models.types import ParsedSentence, Span

ALONE = ("NN", "VB")  # tags of nouns and verbs


def has_content(word: CaptionWord) -> bool:
    """Return whether a word means something by itself."""
    return any(map(str.isalnum, word.text)) and not is_function_word(word.text)


def spans(caption: Caption) -> list[Span]:
    """The places of a caption's words in its text."""
    places, start = list[Span](), 0
    for word in caption.words:
        places.append(Span(start, start + len(word.text)))
        start += len(word.text) + 1
    return places


def judges(caption: Caption, tree: ParsedSentence) -> list[int]:
    """The position of the word to judge each word by.

    Nouns and verbs are judged by themselves, other content words by the word they modify. People
    leave out most attributes of a thing, so a low probability of "white" says little.
    """
    places = spans(caption)
    nodes = {
        at: next((i for i, word in enumerate(tree.words) if overlap(word.span, span)), None)
        for at, span in enumerate(places)
        if has_content(caption.words[at])
    }
    by_node = {node: at for at, node in nodes.items() if node is not None}
    positions = list(range(len(places)))
    for node, at in by_node.items():
        word = tree.words[node]
        if not word.tag.startswith(ALONE):
            positions[at] = by_node.get(word.head, at)
    return positions


def assign_phrases(caption: Caption, phrases: Sequence[Phrase]) -> dict[int, list[Phrase]]:
    """The phrases of each content word, by its position.

    A phrase belongs to the last content word in it.

    A phrase for the whole sentence, which follows those of its words, belongs to none.
    """
    places = [
        (at, span)
        for at, (word, span) in enumerate(zip(caption.words, spans(caption), strict=True))
        if has_content(word)
    ]
    owned: dict[int, list[Phrase]] = {}
    for position, phrase in enumerate(phrases):
        covered = [at for at, span in places if overlap(span, phrase.span)]
        sentence = position > 0 and len(covered) == len(places) > 1
        if covered and not sentence:
            owned.setdefault(covered[-1], []).append(phrase)
    return owned


def overlap(first: Span, second: Span) -> bool:
    """Return whether two spans share a character."""
    return first.start < second.end and second.start < first.end
