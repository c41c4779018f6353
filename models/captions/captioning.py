"""Captioners: from the frozen features of photos to sentences.

Each language model gives the likeliest next words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor, nn

from models.captions import decoding
from models.captions.decoding import END, CaptionLimits, Hypothesis, State, Step
from models.registry import Caption, CaptionWord, Generation
from models.text.lexicon import is_function_word, singulars
from models.towers import Sight
from models.types import PaddedBags

UNKNOWN = 1
FIRST_WORD = 2  # index of the vocabulary's first word, after END and UNKNOWN
BATCH = 16  # photos whose captions are searched for at once


class Language(nn.Module, ABC):
    """p(next word | words so far, photo), the trained part of a captioner."""

    def begin(self, counts: Tensor) -> None:
        """Take the counts of words (V,) in train, before the first step."""

    @abstractmethod
    def look(self, inputs: PaddedBags) -> State:
        """The first state of sentences, for the sight's features (K, F, C)."""

    @abstractmethod
    def forward(self, words: Tensor, state: State) -> tuple[Tensor, State]:
        """Words (N, T) to outputs (N, T, E) for `logits`, and the next state."""

    @abstractmethod
    def logits(self, outputs: Tensor, state: State) -> Tensor:
        """Outputs of forward (N, T, E) to the words' logits (N, T, V)."""

    def logits_where(self, where: Tensor, outputs: Tensor, state: State) -> Tensor:
        """The logits (W, V) of the W places of a mask (N, T) alone."""
        return self.logits(outputs, state)[where]

    def doubts(self, state: State) -> Tensor:
        """Amounts to subtract from words' logits, (N, V) or (N, 1), when captions are made."""
        return state[0].new_zeros(len(state[0]), 1)

    def familiarity(self, inputs: PaddedBags) -> Tensor | None:  # noqa: ARG002
        """Likeness (K,) of photos to train's, 0 to 1, or None if not measured."""
        return None

    def attention(self, outputs: Tensor, state: State) -> Tensor | None:  # noqa: ARG002
        """Each output's attention to each box (N, T, R), or None without attention."""
        return None


class LanguageCaptioner(nn.Module):
    """A frozen sight and a language to describe its features: a registry.Captioner."""

    stored_in_half = ("language.",)
    of_regions = False  # whether the features (1, C) of one region are enough

    def __init__(self, config: Any, sight: Sight, language: Language) -> None:
        """Take a config with the vocabulary `words` and the limits of captions.

        The limits are `longest` and `shortest` in words, and `unfinished`: words that end no
        caption.
        """
        super().__init__()
        self.config, self.sight, self.language = config, sight.requires_grad_(False), language

    def train(self, mode: bool = True) -> Self:
        """Train the language alone: the sight keeps the statistics it came with."""
        super().train(mode)
        self.sight.eval()
        return self

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.language.parameters()).device

    def start(self, inputs: Sequence[Tensor], *, doubting: bool = True) -> tuple[Step, State]:
        """The step function and a search's first state, for K photos.

        The state is the language's, and the doubts about each photo's words.
        """

        def step(words: Tensor, state: State) -> tuple[Tensor, State]:
            *language_state, doubts = state
            outputs, next_state = self.language(words[:, None], tuple(language_state))
            logits = self.language.logits(outputs, next_state)[:, 0] - doubts
            return logits.log_softmax(dim=1), (*next_state, doubts)

        state = self.language.look(PaddedBags.of(list(inputs)).to(self.device))
        doubts = self.language.doubts(state)
        return step, (*state, doubts if doubting else torch.zeros_like(doubts))

    @torch.inference_mode()
    def describe(self, inputs: Sequence[Tensor], generation: Generation) -> list[list[Caption]]:
        """The best captions of each photo, by the sight's inputs (F, C).

        None is longer than the captioner's own limit, even if the generation allows more.
        """
        limits = self.limits(generation)
        captions: list[list[Caption]] = []
        for at in range(0, len(inputs), BATCH):
            step, state = self.start(inputs[at : at + BATCH])
            hypotheses = generate(step, state, limits, generation)
            familiar = self.familiarity(inputs[at : at + BATCH])
            for photo_captions, value in zip(
                self.captions(state, [best[: generation.count] for best in hypotheses]),
                familiar,
                strict=True,
            ):
                captions.append([replace(caption, familiarity=value) for caption in photo_captions])
        return captions

    def familiarity(self, inputs: Sequence[Tensor]) -> Sequence[float | None]:
        """Each photo's likeness to train's, or None if not measured."""
        familiarity = self.language.familiarity(PaddedBags.of(list(inputs)).to(self.device))
        return [None] * len(inputs) if familiarity is None else familiarity.tolist()

    def find_absent_words(self, inputs: Tensor) -> frozenset[str]:  # noqa: ARG002
        """Words to leave out of a photo's captions, by its inputs (F, C)."""
        return frozenset()

    def limits(self, generation: Generation) -> CaptionLimits:
        """The generation's limits within the captioner's own."""
        shortest, longest = self.config.shortest, self.config.longest
        longest = min(generation.longest or longest, longest)
        never = (UNKNOWN, *self.indices(generation.never))
        unfinished = self.indices(self.config.unfinished)
        return CaptionLimits(
            longest,
            min(shortest, longest),
            never,
            generation.unique,
            unfinished,
            self.groups.to(self.device),
        )

    @cached_property
    def groups(self) -> Tensor:
        """The group (V,) of each content word, see CaptionLimits; 0 for other words."""
        words = self.config.words
        numbers = {word: number for number, word in enumerate(words, start=1)}
        groups = torch.zeros(FIRST_WORD + len(words), dtype=torch.long)
        for word, number in numbers.items():
            if not is_function_word(word):
                known = [numbers[form] for form in singulars(word) if form in numbers]
                groups[FIRST_WORD + number - 1] = known[-1]
        return groups

    def indices(self, words: Collection[str]) -> tuple[int, ...]:
        """The vocabulary's indices of some words; unknown words are left out."""
        selected = frozenset(words)
        numbered = enumerate(self.config.words if selected else (), start=FIRST_WORD)
        return tuple(index for index, word in numbered if word in selected)

    def captions(
        self, state: State, hypotheses: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Caption]]:
        """Captions of hypotheses, with each word's log-probability and attention."""
        owners = [photo for photo, best in enumerate(hypotheses) for _ in best]
        lines = [hypothesis for best in hypotheses for hypothesis in best]
        if not lines:
            return [[] for _ in hypotheses]
        T = max(len(line.words) for line in lines)
        words = torch.tensor([[END, *line.words] + [END] * (T - len(line.words)) for line in lines])
        words = words.to(self.device)  # (N, T + 1)
        *language_state, doubts = (part[owners] for part in state)
        outputs, last_state = self.language(words, tuple(language_state))
        logits = self.language.logits(outputs, last_state) - doubts[:, None]
        chances = logits.float().log_softmax(-1)  # (N, T + 1, V)
        log_probabilities = chances[:, :-1].gather(2, words[:, 1:, None]).squeeze(2).tolist()
        looked = self.language.attention(outputs, last_state)
        captions: list[list[Caption]] = [[] for _ in hypotheses]
        for row, (owner, line) in enumerate(zip(owners, lines, strict=True)):
            captions[owner].append(
                Caption(
                    tuple(
                        CaptionWord(
                            self.config.words[word - FIRST_WORD],
                            log_probabilities[row][at],
                            None if looked is None else looked[row, at].float().cpu(),
                        )
                        for at, word in enumerate(line.words)
                    ),
                    line.log_probability,
                )
            )
        return captions


def generate(
    step: Step, state: State, limits: CaptionLimits, generation: Generation
) -> list[list[Hypothesis]]:
    """Hypotheses for each photo of a state, best first."""
    if generation.temperature is None:
        return decoding.beam(
            step, state, limits, width=generation.beam, length_power=generation.length_power
        )
    generator = None
    if generation.seed is not None:
        generator = torch.Generator(state[0].device).manual_seed(generation.seed)
    many = tuple(part.repeat_interleave(generation.count, dim=0) for part in state)
    drawn = decoding.sample(
        step, many, limits, temperature=generation.temperature, top_p=generation.top_p,
        generator=generator,
    )  # fmt: skip
    photos = [drawn[at : at + generation.count] for at in range(0, len(drawn), generation.count)]
    return [
        sorted(candidates, key=lambda hypothesis: -hypothesis.log_probability)
        for candidates in photos
    ]
