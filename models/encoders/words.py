"""Texts as an encoder reads them: tokens, and the word of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.encoders.source import layout
from models.types import ParsedSentence, Span

Token = tuple[int, int]  # where it starts and ends in the text that was read


@dataclass(frozen=True, slots=True)
class Tokens:
    """Texts as tokens: ids (L, T), mask (L, T) or None, groups (L, W + 1, T).

    groups has 1 where a token belongs to a word; the last group has the tokens of no word: marks
    of start and end, and padding.
    """

    ids: Tensor
    mask: Tensor | None
    groups: Tensor


@dataclass(frozen=True, slots=True)
class Spelling:
    """An encoder's tokenizer, of at most `length` tokens.

    Of exactly as many if `padded`.

    Texts are lower-cased for encoders that were trained on such: some published tokenizers of
    SigLIP 2 leave that out. Runs of spaces count as one.
    """

    tokenizer: Any
    length: int
    padded: bool
    lower: bool

    @classmethod
    def of(cls, folder: Path, length: int, *, padded: bool, lower: bool) -> Spelling:
        """The tokenizer of a folder; ValueError without places of tokens."""
        blind = (
            f"the tokenizer of {folder} is SentencePiece's, which does not tell where its tokens "
            "are: take SigLIP 2 instead of SigLIP, or a model with a tokenizer.json of its own"
        )
        try:
            tokenizer = layout(folder).tokenizer()
        except ImportError as missing:  # the package sentencepiece
            raise ValueError(blind) from missing
        if not tokenizer.is_fast:
            raise ValueError(blind)
        spelling = cls(tokenizer, length, padded, lower)
        spelling.read(["a"])  # sets lengths and padding, which threads must not do at a time
        return spelling

    def read(self, texts: Sequence[str]) -> Any:
        """Ids, perhaps masks, and places of tokens, as transformers gives them."""
        return self.tokenizer(
            list(texts),
            padding="max_length" if self.padded else True,
            truncation=True,
            max_length=self.length,
            return_offsets_mapping=True,
            return_tensors="pt",
        )

    def __call__(self, sentences: Sequence[ParsedSentence]) -> Tokens:
        """The tokens of sentences, cut off after `length` as in transformers."""
        texts = [squeeze(sentence.text, self.lower) for sentence in sentences]
        encoded = self.read([text for text, _ in texts])
        widest = max(len(sentence.words) for sentence in sentences)
        groups = torch.zeros(len(texts), widest + 1, encoded["input_ids"].shape[1])
        for row, (sentence, (_, places)) in enumerate(zip(sentences, texts, strict=True)):
            spans = [word.span for word in sentence.words]
            tokens = in_text(encoded["offset_mapping"][row].tolist(), places)
            owners = owners_of(tokens, spans, widest)
            groups[row, owners, torch.arange(len(owners))] = 1
        return Tokens(encoded["input_ids"], encoded.get("attention_mask"), groups)


def squeeze(text: str, lower: bool) -> tuple[str, list[int]]:
    """A text without runs of spaces, and the former places of its characters.

    >>> squeeze(" A  dog", lower=True)
    ('a dog', [1, 2, 4, 5, 6])
    """
    places = [
        at
        for at, character in enumerate(text)
        if not character.isspace() or (at and not text[at - 1].isspace())
    ]
    while places and text[places[-1]].isspace():
        places.pop()
    characters = (" " if text[at].isspace() else text[at] for at in places)
    return "".join(
        character.lower() if lower and len(character.lower()) == 1 else character
        for character in characters
    ), places


def in_text(offsets: Sequence[Token], places: Sequence[int]) -> list[Token]:
    """Tokens' places in the original text; marks and padding have no width."""
    return [
        (places[start], places[end - 1] + 1) if end > start else (0, 0) for start, end in offsets
    ]


def owners_of(tokens: Sequence[Token], words: Sequence[Span], nowhere: int) -> list[int]:
    """The word of each token: the first overlap, else the previous.

    So punctuation goes with its word. Tokens without a place in the text belong to `nowhere`.

    >>> owners_of([(0, 0), (0, 3), (3, 4), (5, 8)], [Span(0, 3), Span(5, 8)], 9)
    [9, 0, 0, 1]
    """
    owners = []
    for start, end in tokens:
        if start == end:
            owners.append(nowhere)
            continue
        overlapping = (at for at, word in enumerate(words) if word.start < end and start < word.end)
        preceding = sum(word.start < start for word in words) - 1
        owners.append(next(overlapping, max(preceding, 0)))
    return owners
