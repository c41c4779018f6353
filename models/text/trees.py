"""Sentence encoders along a dependency tree, one level of a batch's trees at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.types import ParsedSentence

ROOT = -1  # the head of a word that depends on none
OTHER = 0  # the number of every relation and every position that has no number of its own
TREES = ("relation", "position", "constituency")  # in the order of their columns, after heads
NOISE = 0.01  # deviation of the first noise on identity matrices

Activation = Callable[[Tensor], Tensor]
ACTIVATIONS: dict[str, Activation] = {
    "identity": nn.Identity(),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
}


def heads(sentence: ParsedSentence) -> list[int]:
    """The place of each word's head, ROOT for the root."""
    return [word.head for word in sentence.words]


def relations(sentence: ParsedSentence, known: Sequence[str]) -> list[int]:
    """The number of each word's relation, from 1; OTHER for unknown ones."""
    numbers = {relation: number for number, relation in enumerate(known, start=1)}
    return [numbers.get(word.relation, OTHER) for word in sentence.words]


def positions(above: Sequence[int], reach: int) -> list[int]:
    """pos(i, j) of each word among its head's dependents   (Socher et al. 2014, section 3.2).

    Counted from the head outwards: l1 … lk are 1 … k and r1 … rk are k + 1 … 2k for a reach of k;
    OTHER is further away.
    """
    numbers = [OTHER] * len(above)
    right = range(len(above))
    for first, places in ((0, reversed(right)), (reach, right)):
        counts = Counter[int]()
        for place in places:
            head = above[place]
            if head != ROOT and (place > head) == (first == reach):
                counts[head] += 1
                numbers[place] = first + counts[head] if counts[head] <= reach else OTHER
    return numbers


def merges(above: Sequence[int]) -> list[int]:
    """Each phrase's step, from 1, in a binary tree; 0 for the root.

    The tree is binarised from the head outwards: a phrase starts as its head, then takes the
    dependents on its right, the nearest first, then those on its left. Steps of one number are of
    different phrases and wait for none of their own number.
    """
    steps = [0] * len(above)

    def finished(head: int) -> int:
        """The last step of a head's phrase."""
        dependents = [place for place, governor in enumerate(above) if governor == head]
        right, left = (
            [p for p in dependents if p > head],
            [p for p in reversed(dependents) if p < head],
        )
        last = 0
        for place in right + left:
            last = steps[place] = 1 + max(last, finished(place))
        return last

    finished(above.index(ROOT))
    return steps


def columns(sentence: ParsedSentence, known: Sequence[str], reach: int) -> Tensor:
    """A tree in numbers (T, 4): heads, relations, positions and binary steps."""
    above = heads(sentence)
    kinds = relations(sentence, known), positions(above, reach), merges(above)
    return torch.tensor([above, *kinds]).T


@dataclass(frozen=True, slots=True)
class Forest:
    """The trees of L sentences, their N words in one row.

    heads (N,): the word above each, itself for a root. levels: the words of each depth, the
    deepest first; the last holds the roots (L,), sentence by sentence.
    """

    heads: Tensor
    levels: tuple[Tensor, ...]

    @classmethod
    def of(cls, above: Tensor, mask: Tensor) -> Forest:
        """The forest of places of heads (L, T), ROOT for a root."""
        places = (mask.flatten().cumsum(0) - 1).view_as(mask)  # (L, T)
        governors = torch.where(above == ROOT, places, places.gather(1, above.clamp_min(0)))
        heads = governors[mask]  # (N,)
        at, depths = places[mask], torch.zeros_like(heads)
        for _ in range(mask.shape[1]):
            depths += at != heads[at]
            at = heads[at]
        numbers = range(int(depths.max()), -1, -1)
        levels = tuple((depths == number).nonzero()[:, 0] for number in numbers)
        assert len(levels[-1]) == len(mask), "every sentence is one tree"
        return cls(heads, levels)

    @property
    def roots(self) -> Tensor:
        """The word (L,) at the top of each tree."""
        return self.levels[-1]

    def words_under(self) -> Tensor:
        """ℓ(i) = 1 + Σ_{j ∈ C(i)} ℓ(j), (N,)."""
        counts = torch.ones_like(self.heads)
        for level in self.levels[:-1]:
            counts = counts.index_add(0, self.heads[level], counts[level])
        return counts


class DependencyEncoder(nn.Module):
    """h_i = f(1/ℓ(i) (W_v x_i + Σ_{j ∈ C(i)} ℓ(j) W_kind(j) h_j))   (Socher et al. 2014, eq. 4).

    A kind of edge is a position (DT-RNN) or a relation (SDT-RNN), and has a matrix of its own
    that starts as the identity plus Gaussian noise. Shapes: W_v x (L, T, H), mask (L, T), places
    of heads (L, T) and kinds (L, T) give the roots' h (L, H).
    """

    def __init__(self, kinds: int, hidden: int, activation: Activation) -> None:
        super().__init__()
        self.activation = activation
        matrices = [near_identity(hidden) for _ in range(kinds)]
        self.compose = nn.Parameter(torch.stack(matrices))  # W_kind

    def forward(self, x: Tensor, mask: Tensor, above: Tensor, kinds: Tensor) -> Tensor:
        """Compose every sentence from its leaves up."""
        forest = Forest.of(above, mask)
        kinds, matrices = kinds[mask], self.compose.unbind()
        counts = forest.words_under()[:, None]
        total = x[mask]  # (N, H), the sums so far of words and their dependents
        for level in forest.levels[:-1]:
            level = level[kinds[level].argsort()]
            h = self.activation(total[level] / counts[level])
            parts = torch.split(h, kinds[level].bincount(minlength=len(matrices)).tolist())
            composed = torch.cat([part @ W.T for part, W in zip(parts, matrices, strict=True)])
            total = total.index_add(0, forest.heads[level], (counts[level] * composed).to(total))
        return self.activation(total[forest.roots] / counts[forest.roots])


class ConstituencyEncoder(nn.Module):
    """h = f(W [c_1; c_2]) in a binary tree, leaves being words (Socher et al. 2014, section 3.4).

    Shapes: words (L, T, H), mask (L, T), places of heads (L, T) and the steps of `merges` (L, T)
    give the whole trees' h (L, H).
    """

    def __init__(self, hidden: int, activation: Activation) -> None:
        super().__init__()
        self.activation = activation
        # Half of each identity: a phrase starts as the mean of its two parts.
        halves = [near_identity(hidden) / 2 for _ in range(2)]
        self.compose = nn.Parameter(torch.cat(halves, dim=1))  # W

    def forward(self, x: Tensor, mask: Tensor, above: Tensor, steps: Tensor) -> Tensor:
        """Merge the phrases of all sentences, step by step."""
        forest = Forest.of(above, mask)
        steps, phrases = steps[mask], x[mask]  # (N,), (N, H) the phrase around each word so far
        for step in range(1, int(steps.max()) + 1):
            places = (steps == step).nonzero()[:, 0]
            heads = forest.heads[places]
            left, right = torch.minimum(places, heads), torch.maximum(places, heads)
            pairs = torch.cat([phrases[left], phrases[right]], dim=1)  # (·, 2H)
            merged = self.activation(pairs @ self.compose.T)
            phrases = phrases.index_copy(0, heads, merged.to(phrases))
        return phrases[forest.roots]


def near_identity(size: int) -> Tensor:
    """The identity plus Gaussian noise   (Socher et al. 2014, section 6)."""
    return torch.eye(size) + NOISE * torch.randn(size, size)


class MeanEncoder(nn.Module):
    """The mean of a sentence's words: words (L, T, H) and mask (L, T) give (L, H)."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Average the real words."""
        return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


class RecurrentEncoder(nn.Module):
    """h_t = f(W_h h_{t−1} + W_x x_t), the last of them   (Socher et al. 2014, section 6).

    Shapes: W_x x (L, T, H) and mask (L, T) give (L, H).
    """

    def __init__(self, hidden: int, activation: Activation) -> None:
        super().__init__()
        self.activation = activation
        self.again = nn.Parameter(near_identity(hidden))  # W_h

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Go through the words; past a sentence's last one its state stays."""
        state = torch.zeros_like(x[:, 0])  # (L, H)
        for words, real in zip(x.unbind(1), mask.unbind(1), strict=True):
            state = torch.where(real[:, None], self.activation(state @ self.again.T + words), state)
        return state
