"""Objectives of captioners: likelihood of words, reward of captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from models.captions.captioning import FIRST_WORD, UNKNOWN, LanguageCaptioner
from models.captions.decoding import END, CaptionLimits, sample
from training.captioners.batches import PADDING, Batches, CaptionBatch, TextBatch
from training.captioners.vocabulary import caption_words
from training.evaluation.captions.cider import Cider
from training.runs.precision import half_precision


@dataclass(frozen=True, slots=True)
class CrossEntropy:
    """The mean −log p of true words; sentences without photos count `text_weight`."""

    model: LanguageCaptioner
    device: str
    precision: str
    label_smoothing: float = 0.0
    text_weight: float = 1.0

    def __call__(self, batches: Batches, epoch: int) -> Tensor:  # noqa: ARG002 - in all the same
        """The loss of a step, a scalar."""
        return torch.stack([self.weigh(batch, len(batches)) for batch in batches]).sum()

    def weigh(self, batch: CaptionBatch | TextBatch, batches: int) -> Tensor:
        """Compute the loss of a batch.

        Text weighs 1 if it is alone in its step.
        """
        with half_precision(self.device, self.precision):
            predicted, targets = logits(self.model, batch, self.device)
        loss = F.cross_entropy(predicted.float(), targets, label_smoothing=self.label_smoothing)
        return loss * self.text_weight if isinstance(batch, TextBatch) and batches > 1 else loss


class SelfCritical:
    """Drawn captions become more likely if they beat others of their photo.

    −Σ_t (r(c) − b) log p(w_t), a mean over words. r is CIDEr-D of a drawn caption c, with its end
    as a word, against train's sentences of its photo; b is the mean reward of the photo's other
    captions (Rennie et al. 2017; Luo 2020). Text alone has the loss of CrossEntropy.
    """

    def __init__(
        self, truth: CrossEntropy, references: Sequence[Sequence[str]], samples: int
    ) -> None:
        """Take photos' sentences and the number of captions to draw."""
        if samples < 2:
            raise ValueError(f"[reward] samples is {samples}; use at least 2, to compare them")
        self.truth, self.samples, self.model = truth, samples, truth.model
        self.cider = Cider(
            [
                [mark_end(caption_words(sentence)) for sentence in sentences]
                for sentences in references
            ]
        )

    def __call__(self, batches: Batches, epoch: int) -> Tensor:  # noqa: ARG002 - in all the same
        """The loss of a step, a scalar."""
        return torch.stack(
            [
                self.reward(batch)
                if isinstance(batch, CaptionBatch)
                else self.truth.weigh(batch, len(batches))
                for batch in batches
            ]
        ).sum()

    def reward(self, batch: CaptionBatch) -> Tensor:
        """Compute the loss of captions drawn for the photos of a batch."""
        captions = self.draw(batch.photos)
        owners = torch.arange(len(batch.photos)).repeat_interleave(self.samples)
        advantages = self.advantages(captions, batch.positions)
        sampled = batch.of(owners, captions)
        with half_precision(self.truth.device, self.truth.precision):
            predicted, targets = logits(self.model, sampled, self.truth.device)
        costs = F.cross_entropy(predicted.float(), targets, reduction="none")  # (W,)
        sentence = (sampled.targets != PADDING).nonzero()[:, 0]  # (W,) whose word each is
        return (advantages[sentence].to(costs) * costs).mean()

    @torch.no_grad()
    def draw(self, photos: Tensor) -> list[Tensor]:
        """Draw `samples` captions of each photo (K, F, C) as word indices (T,)."""
        self.model.eval()
        step, state = self.model.start(list(photos), doubting=False)
        repeated_state = tuple(part.repeat_interleave(self.samples, 0) for part in state)
        hypotheses = sample(
            step, repeated_state, CaptionLimits(self.model.config.longest, 1, (UNKNOWN,))
        )
        self.model.train()
        return [torch.tensor(hypothesis.words) for hypothesis in hypotheses]

    def advantages(self, captions: Sequence[Tensor], positions: Sequence[int]) -> Tensor:
        """Compare each caption (N,) with its photo's others."""
        words = self.model.config.words
        texts = [
            mark_end([words[at - FIRST_WORD] for at in caption.tolist()]) for caption in captions
        ]
        owners = [position for position in positions for _ in range(self.samples)]
        rewards = torch.from_numpy(self.cider.scores(texts, owners)).view(-1, self.samples)
        baseline = (rewards.sum(1, keepdim=True) - rewards) / (self.samples - 1)
        return (rewards - baseline).flatten()


def mark_end(words: Sequence[str]) -> list[str]:
    """Mark the end of words.

    A caption without an end is worth less.
    """
    return [*words, str(END)]


def logits(
    model: LanguageCaptioner, batch: CaptionBatch | TextBatch, device: str
) -> tuple[Tensor, Tensor]:
    """Compute logits (W, V) of a batch's W real words, END included, and targets (W,)."""
    language = model.language
    inputs, targets = batch.given.to(device), batch.targets.to(device)  # (N, T) each
    outputs, state = language(inputs, batch.state(language, device))
    real = targets != PADDING
    return language.logits_where(real, outputs, state), targets[real]
