"""Words by their vectors or numbers, in pairs or trees: the frozen parts of text towers."""

from __future__ import annotations

import json
from collections.abc import Sequence

import torch
from torch import Tensor

from models.text.edges import Edge, alone, bigrams, dependencies, join_edges, places
from models.text.parsing import SentenceReader, parse_trees, parser_key, require
from models.text.trees import columns
from models.text.words import Vocabulary, WordVectors
from models.towers import FragmentPlace
from models.types import WHOLE_SENTENCE, ParsedSentence, Span

PAIRS = ("dependencies", "bigrams", "words")


def whole(sentence: ParsedSentence) -> list[FragmentPlace]:
    """The place of a sentence's only fragment, from first word to last."""
    words = sentence.words
    return [(WHOLE_SENTENCE, Span(words[0].span.start, words[-1].span.end))]


class WordReader(SentenceReader):
    """The vectors (T, W) of a sentence's words, or of the whole sentence.

    With `whole` the sentence is one fragment.
    """

    def __init__(self, whole: bool = False) -> None:
        super().__init__()
        self.vectors, self.whole = WordVectors(), whole

    def inputs(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """Word vectors (T, W)."""
        vectors: list[Tensor] = self.vectors(sentences)
        return vectors

    def key(self) -> str:
        """Word vectors are the same for every tower."""
        return json.dumps(["word vectors"])

    def places(self, sentence: ParsedSentence) -> list[FragmentPlace]:
        """A fragment a word, or the whole sentence."""
        return whole(sentence) if self.whole else super().places(sentence)


class NumberReader(SentenceReader):
    """The numbers (T, 1) of a sentence's words; the sentence is one fragment."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__()
        self.words, self.vocabulary = words, Vocabulary(words)

    def inputs(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """Word numbers (T, 1), int64."""
        return [self.vocabulary.encode(sentence)[:, None] for sentence in sentences]

    def key(self) -> str:
        """The vocabulary."""
        return json.dumps(["word numbers", self.words])

    def places(self, sentence: ParsedSentence) -> list[FragmentPlace]:
        """The whole sentence."""
        return whole(sentence)


class PairReader(WordReader):
    """Word vectors, heads and relations (T, W + 2): dependencies, bigrams, or words alone.

    Dependencies whose relation is not listed make no fragment; `parser` is the key of the one
    that found the relations, see models.text.parsing.require.
    """

    def __init__(self, pairs: str, relations: Sequence[str], parser: str) -> None:
        require(parser)
        super().__init__()
        self.pairs, self.relations = pairs, relations

    def parse(self, texts: Sequence[str]) -> list[ParsedSentence]:
        """Trees for dependencies, words for the others."""
        return parse_trees(texts) if self.pairs == "dependencies" else super().parse(texts)

    def edges(self, sentence: ParsedSentence) -> list[Edge]:
        """The partner of each word."""
        if self.pairs == "dependencies":
            return dependencies(sentence, self.relations)
        return bigrams(sentence) if self.pairs == "bigrams" else alone(sentence)

    def inputs(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """Word vectors, heads and relations, (T, W + 2)."""
        return join_edges(
            super().inputs(sentences), [self.edges(sentence) for sentence in sentences]
        )

    def key(self) -> str:
        """The pairs, and for dependencies the parser and its relations."""
        trees = [parser_key(), self.relations] if self.pairs == "dependencies" else []
        return json.dumps(["word vectors", self.pairs, *trees])

    def places(self, sentence: ParsedSentence) -> list[FragmentPlace]:
        """A fragment a pair, at its dependent word."""
        return places(sentence, self.edges(sentence))


class TreeReader(WordReader):
    """Word vectors and a tree's columns (T, W + 4); the sentence is one fragment."""

    def __init__(self, relations: Sequence[str], reach: int, parser: str) -> None:
        require(parser)
        super().__init__(whole=True)
        self.relations, self.reach = relations, reach

    def parse(self, texts: Sequence[str]) -> list[ParsedSentence]:
        """Trees."""
        return parse_trees(texts)

    def inputs(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """Word vectors, then heads, relations, positions and steps: (T, W + 4)."""
        trees = [columns(sentence, self.relations, self.reach) for sentence in sentences]
        vectors = super().inputs(sentences)
        return [torch.cat([x, tree.to(x)], 1) for x, tree in zip(vectors, trees, strict=True)]

    def key(self) -> str:
        """The parser, and the numbering of edges."""
        return json.dumps(["word vectors", parser_key(), self.relations, self.reach])
