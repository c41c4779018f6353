"""Decoding of sentences word by word: beam search and sampling.

A step function maps the last words (N,) and the state of N sentences, tensors whose first axis is
N, to log-probabilities of the next word (N, V) and the next state. Word `END` starts and ends every
sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

END = 0

State = tuple[Tensor, ...]
Step = Callable[[Tensor, State], tuple[Tensor, State]]


@dataclass(frozen=True, slots=True)
class CaptionLimits:
    """Limits of every sentence: its length, and forbidden words and endings.

    No run of `unique` words comes twice in a sentence; 0 allows it. None ends with a word of
    `unfinished`. `groups` (V,) numbers words that are the same, such as "dog" and "dogs": of a
    group above 0 a sentence has one word at most, and no word comes twice in a row.
    """

    longest: int
    shortest: int = 0
    never: tuple[int, ...] = ()
    unique: int = 0
    unfinished: tuple[int, ...] = ()
    groups: Tensor | None = None

    def ban(self, scores: Tensor, words: Tensor) -> Tensor:
        """Leave scores (N, V) after words (N, t) no chance of breaking the limits."""
        length = words.shape[1]
        banned = self.never if length >= self.shortest else (*self.never, END)
        columns = torch.tensor(banned, dtype=torch.long, device=scores.device)
        scores = scores.index_fill(1, columns, float("-inf"))
        if self.unfinished and length:
            unfinished = torch.tensor(self.unfinished, device=words.device)
            scores[torch.isin(words[:, -1], unfinished), END] = float("-inf")
        if self.groups is not None and length:
            scores = scores.masked_fill(self.find_repeated(self.groups, words), float("-inf"))
        if 0 < self.unique <= length:
            runs = words.unfold(1, self.unique, 1)  # (N, runs, unique)
            last = words[:, length - self.unique + 1 :]  # (N, unique - 1)
            repeated = (runs[..., :-1] == last[:, None]).all(-1)  # (N, runs)
            rows, run = repeated.nonzero(as_tuple=True)
            scores[rows, runs[rows, run, -1]] = float("-inf")
        return scores

    @staticmethod
    def find_repeated(groups: Tensor, words: Tensor) -> Tensor:
        """Mark the repetitions (N, V) after words (N, t)."""
        count = int(groups.max()) + 1
        used = torch.zeros(len(words), count, dtype=torch.bool, device=words.device)
        used.scatter_(1, groups[words], True)
        used[:, 0] = False
        repeated = used[:, groups]  # (N, V)
        repeated.scatter_(1, words[:, -1:], True)
        repeated[:, END] = False
        return repeated


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Words without END, and the natural log of their probability, END counted.

    One that reached the longest length has no END, neither in its words nor in its sum.
    """

    words: tuple[int, ...]
    log_probability: float

    def score(self, length_power: float) -> float:
        """Return log p / length^power: 0 ranks by probability, 1 by the words' mean."""
        return self.log_probability / float((len(self.words) + 1) ** length_power)


def sample(
    step: Step,
    state: State,
    limits: CaptionLimits,
    *,
    temperature: float = 1.0,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
) -> list[Hypothesis]:
    """Draw words from p^(1/temperature), of the likeliest with `top_p` of the probability.

    The log-probabilities stay those of temperature 1 and of all words.
    """
    if not temperature > 0:
        raise ValueError(
            f"temperature must be above 0, got {temperature}; a beam of width 1 is greedy"
        )
    N, device = len(state[0]), state[0].device
    last, totals = torch.full((N,), END, device=device), torch.zeros(N, device=device)
    going = torch.ones(N, dtype=torch.bool, device=device)
    path: list[Tensor] = []
    for _ in range(limits.longest):
        scores, state = step(last, state)
        prefix = torch.stack(path, 1) if path else last.new_empty(N, 0)  # (N, t)
        chances = _nucleus((limits.ban(scores, prefix) / temperature).softmax(dim=1), top_p)
        last = torch.multinomial(chances, 1, generator=generator).squeeze(1)  # (N,)
        last = last.masked_fill(~going, END)
        totals = totals + scores.gather(1, last[:, None]).squeeze(1).masked_fill(~going, 0.0)
        going = going & (last != END)
        path.append(last)
        if not going.any():
            break
    words = torch.stack(path, dim=1).tolist() if path else [[]] * N
    return [
        Hypothesis(tuple(word for word in line if word != END), total)
        for line, total in zip(words, totals.tolist(), strict=True)
    ]


def _nucleus(chances: Tensor, top_p: float) -> Tensor:
    """Chances (N, V) of the likeliest words with `top_p` of the probability, 0 of others."""
    if top_p >= 1:
        return chances
    sorted_chances, order = chances.sort(dim=1, descending=True)
    tail = sorted_chances.cumsum(1) - sorted_chances >= top_p
    return torch.zeros_like(chances).scatter(1, order, sorted_chances.masked_fill(tail, 0.0))


def beam(
    step: Step, state: State, limits: CaptionLimits, *, width: int, length_power: float = 0.0
) -> list[list[Hypothesis]]:
    """Up to `width` hypotheses for each of K sentences, best first.

    At each step, ended hypotheses among the `width` best continuations are put aside, and the
    search goes on with the `width` best of the others. It ends when `width` are aside, so width 1
    is greedy search. Hypotheses are ranked by `Hypothesis.score(length_power)`; hypotheses at the
    longest length follow.
    """
    if width < 1:
        raise ValueError(f"a beam is at least 1 wide, got {width}")
    K, device = len(state[0]), state[0].device
    ended: list[list[Hypothesis]] = [[] for _ in range(K)]
    state = tuple(part.repeat_interleave(width, dim=0) for part in state)  # (K·B, ...)
    words = torch.full((K, width, 1), END, device=device)
    totals = torch.full((K, width), float("-inf"), device=device)
    totals[:, 0] = 0.0  # all beams start alike: the first step grows only one
    for _ in range(limits.longest):
        scores, state = step(words[:, :, -1].flatten(), state)
        allowed = limits.ban(scores, words[:, :, 1:].flatten(0, 1))  # (K·B, V)
        grown = totals[:, :, None] + allowed.view(K, width, -1)  # (K, B, V)
        _put_aside(ended, words, grown)
        if min(map(len, ended), default=width) >= width:
            break
        grown[:, :, END] = float("-inf")
        totals, parents, chosen = _best(grown, width)  # (K, B) each
        state = tuple(_of_parents(part, parents) for part in state)
        prefixes = _of_parents(words.flatten(0, 1), parents).view(K, width, -1)
        words = torch.cat([prefixes, chosen[:, :, None]], dim=2)  # (K, B, t)
    return [
        (sorted(finished, key=lambda h: -h.score(length_power)) + _cut_off(*alive))[:width]
        for finished, alive in zip(ended, zip(words, totals, strict=True), strict=True)
    ]


def _best(grown: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Pick the best continuations of (K, B, V): totals, parent beams and words, (K, B) each."""
    totals, picks = grown.flatten(1).topk(width, dim=1)
    return totals, picks // grown.shape[2], picks % grown.shape[2]


def _of_parents(part: Tensor, parents: Tensor) -> Tensor:
    """Rows of a (K·B, ...) tensor for parents (K, B), counted within K."""
    first = torch.arange(len(parents), device=parents.device)[:, None] * parents.shape[1]
    return part[(parents + first).flatten()]


def _put_aside(ended: list[list[Hypothesis]], words: Tensor, grown: Tensor) -> None:
    """Collect the finished hypotheses among the B best continuations of (K, B, V)."""
    totals, parents, chosen = (part.tolist() for part in _best(grown, grown.shape[1]))
    for k, finished in enumerate(ended):
        if len(finished) >= grown.shape[1]:
            continue  # over, though others of the batch still run
        for total, parent, word in zip(totals[k], parents[k], chosen[k], strict=True):
            if word == END and total > float("-inf"):
                finished.append(Hypothesis(tuple(words[k, parent, 1:].tolist()), total))


def _cut_off(words: Tensor, totals: Tensor) -> list[Hypothesis]:
    """List the hypotheses (B, t) of the longest length, likeliest first."""
    return [
        Hypothesis(tuple(line[1:]), total)
        for line, total in zip(words.tolist(), totals.tolist(), strict=True)
        if total > float("-inf")
    ]
