"""Pairs of words as fragments: dependency relations, bigrams, and words alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.types import PaddedBags, ParsedSentence, Span, Word

ALONE = -1  # a word that is paired with none
DROPPED = -1  # a relation without a fragment

Edge = tuple[int, int]  # the word that a word is paired with, and the number of their relation


def dependencies(sentence: ParsedSentence, relations: Sequence[str]) -> list[Edge]:
    """Each word with its head; unlisted relations are dropped.

    (Karpathy et al. 2014, section 3.1.) The root's pair is with no word, and always there.
    """
    numbers = {relation: number for number, relation in enumerate(relations, start=1)}
    return [
        (word.head, numbers.get(word.relation, DROPPED)) if word.head != ALONE else (ALONE, 0)
        for word in sentence.words
    ]


def bigrams(sentence: ParsedSentence) -> list[Edge]:
    """Each word with the word before it; the first with none."""
    return [(place - 1, 0) for place in range(len(sentence.words))]


def alone(sentence: ParsedSentence) -> list[Edge]:
    """Each word with none."""
    return [(ALONE, 0)] * len(sentence.words)


def places(sentence: ParsedSentence, edges: Sequence[Edge]) -> list[tuple[str, Span]]:
    """The label and place of each pair, at its dependent word."""
    return [
        (label(sentence.words, word, head, relation), word.span)
        for word, (head, relation) in zip(sentence.words, edges, strict=True)
        if relation != DROPPED
    ]


def label(words: Sequence[Word], word: Word, head: int, relation: int) -> str:
    """A word, a relation such as "black → dog", or two neighbours."""
    if head == ALONE:
        return word.text
    if relation:
        return f"{word.text} → {words[head].text}"
    pair = sorted((word, words[head]), key=lambda member: member.span.start)
    return " ".join(member.text for member in pair)


def join_edges(vectors: Sequence[Tensor], edges: Sequence[Sequence[Edge]]) -> list[Tensor]:
    """Word vectors (T, W) with edges as two last columns, (T, W + 2)."""
    return [
        torch.cat([words, torch.tensor(pairs, dtype=words.dtype, device=words.device)], dim=1)
        for words, pairs in zip(vectors, edges, strict=True)
    ]


class EdgeEncoder(nn.Module):
    """s = f(W_R [W_e w_1; W_e w_2] + b_R)        (Karpathy et al. 2014, eq. 1).

    w_1 governs w_2, f is the rectifier, and each relation R has a matrix W_R of its own. With
    `shared` it is W + U_R, U_R = 0 at first, so that rare relations learn from frequent ones,
    which is not in the paper. W_e w are fixed word vectors; a word without a partner has
    zeros for w_1. Shapes: word vectors (L, T, W), heads (L, T) and relations (L, T), both int64,
    give (L, T, D), zero where a relation is DROPPED.
    """

    def __init__(
        self, words: int, relations: int, embedding: int, dropout: float, *, shared: bool
    ) -> None:
        super().__init__()
        self.shared = nn.Parameter(torch.empty(2 * words, embedding)) if shared else None  # W
        self.own = nn.Parameter(torch.zeros(relations, 2 * words, embedding))  # U_R, or W_R
        self.bias = nn.Parameter(torch.zeros(relations, embedding))  # b_R
        self.dropout = nn.Dropout(dropout)
        nn.init.normal_(self.own if self.shared is None else self.shared, std=words**-0.5)

    def bags(self, x: Tensor, mask: Tensor) -> PaddedBags:
        """The fragments of `join_edges` inputs (L, T, W + 2), in order, without dropped ones."""
        vectors, edges = x[..., :-2], x[..., -2:].long()
        relations = edges[..., 1].masked_fill(~mask, DROPPED)
        embedded, real = self(vectors, edges[..., 0], relations), relations != DROPPED
        order = (~real).to(torch.int8).argsort(dim=1, stable=True)  # real ones first
        order = order[:, : int(real.sum(1).max())]
        index = order[..., None].expand(-1, -1, embedded.shape[-1])
        return PaddedBags(embedded.gather(1, index), real.gather(1, order))

    def forward(self, vectors: Tensor, heads: Tensor, relations: Tensor) -> Tensor:
        """Embed every pair."""
        real = (relations != DROPPED).nonzero()  # (N, 2)
        kinds, order = relations[real.unbind(1)].sort(stable=True)
        sentences, words = real[order].unbind(1)
        governing = heads[sentences, words]
        governors = vectors[sentences, governing.clamp_min(0)] * (governing != ALONE)[:, None]
        pairs = self.dropout(torch.cat([governors, vectors[sentences, words]], dim=1))  # (N, 2W)
        counts = torch.bincount(kinds, minlength=len(self.own)).tolist()
        embedded = [
            torch.addmm(bias, kind_pairs, weight if self.shared is None else self.shared + weight)
            for kind_pairs, weight, bias in zip(
                pairs.split(counts), self.own.unbind(), self.bias.unbind(), strict=True
            )  # whose gradients are stacked once
            if len(kind_pairs)
        ]
        placed = vectors.new_zeros(*heads.shape, self.bias.shape[1])
        if embedded:
            placed[sentences, words] = torch.cat(embedded).relu().to(placed.dtype)
        return placed
