"""Training of a captioner, from a corpus to a checkpoint measured on val."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models import checkpoint
from models.captioners import lstm
from models.decoding import END
from models.registry import Caption, Captioner
from training.cache import Inputs, cached, file_digest
from training.data.captions import caption_words, vocabulary
from training.data.corpus import Corpus, Example
from training.evaluation.captioning import Bleu, bleu
from training.evaluation.embedding import pixels
from training.optimization import Descent, Optimizer, Schedule, mean_loss
from training.progress import Progress, silent

PADDING = -1  # a target that is no word
DESCRIBED = 16  # photos described at once
BEAM = 5


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a captioner is trained; the defaults made the one that ships."""

    config: Mapping[str, Any] = field(default_factory=dict)  # lstm.Config's, without the words
    optimizer: Optimizer = field(
        default_factory=lambda: Optimizer(learning_rate=2e-3, weight_decay=1e-4)
    )
    schedule: Schedule = field(
        default_factory=lambda: Schedule(8, batch=32, average=0.998, precision="bfloat16")
    )
    label_smoothing: float = 0.1
    least_count: int = 5


@dataclass(frozen=True, slots=True)
class Lessons:
    """The frozen inputs (R, C) of K photos, and each one's sentences as word indices (T,)."""

    photos: Sequence[Tensor]
    sentences: Sequence[Sequence[Tensor]]

    def __len__(self) -> int:
        return len(self.sentences)


def train(
    corpus: Corpus,
    file: Path,
    cache: Path,
    recipe: Recipe,
    *,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress = silent,
    report: Callable[[str], object] = str,
) -> Bleu:
    """Train on split train, write the checkpoint to `file`; its BLEU on split val with beam 5.

    The averaged weights of the last epoch are kept: val chooses nothing. `cache` keeps the frozen
    CNN's outputs, `report` is told each epoch's loss.
    """
    torch.manual_seed(seed)
    examples, validated = corpus.split("train"), corpus.split("val")
    words = vocabulary(corpus, recipe.least_count)
    model = lstm.Model(lstm.Config(words=words, **recipe.config)).to(device)
    lessons = Lessons(
        frozen_inputs(model, examples, cache, progress),
        word_indices(examples, words, model.config.longest),
    )
    trainer = Trainer(model, recipe, lessons, device)
    for epoch in range(1, recipe.schedule.epochs + 1):
        report(f"epoch {epoch:3}  loss {trainer.epoch(progress):.3f}")
    trainer.descent.average.settle()
    model.eval()
    seen = frozen_inputs(model, validated, cache, progress)
    score = measured(lambda part: model.captions(seen[part], BEAM, 1), validated, progress)
    facts = {"seed": seed, "data": {"name": corpus.name, "digest": corpus.digest()}}
    facts |= {"recipe": asdict(recipe), "validation": {"beam": BEAM} | asdict(score)}
    checkpoint.save(file, "captioners", "lstm", model, facts)
    return score


def evaluate(
    captioner: Captioner,
    examples: Sequence[Example],
    beam: int = BEAM,
    progress: Progress = silent,
) -> Bleu:
    """BLEU of the best captions of a split's photos, by the same path that a service takes."""

    def described(part: slice) -> list[list[Caption]]:
        return captioner.describe([pixels(one.image) for one in examples[part]], beam=beam, count=1)

    return measured(described, examples, progress)


class Trainer:
    """A captioner in training: its weights, their optimizer and average."""

    def __init__(self, model: lstm.Model, recipe: Recipe, lessons: Lessons, device: str) -> None:
        self.model, self.recipe, self.lessons, self.device = model, recipe, lessons, device
        steps = -(-len(lessons) // recipe.schedule.batch)
        self.descent = Descent(model, recipe.optimizer, recipe.schedule, steps)

    def epoch(self, progress: Progress = silent) -> float:
        """Learn all sentences of every photo once, in a new order; the mean loss of a step."""
        self.model.train()
        return mean_loss(len(self.lessons), self.recipe.schedule.batch, self.step, progress)

    def step(self, batch: Sequence[int]) -> float:
        """Learn the sentences of some photos; the loss of a word."""
        half = self.recipe.schedule.precision == "bfloat16"
        with torch.autocast(self.device.split(":")[0], torch.bfloat16, enabled=half):
            scores, targets = self.said(batch)
        loss = F.cross_entropy(scores.float(), targets, label_smoothing=self.recipe.label_smoothing)
        return self.descent.step(loss)

    def said(self, batch: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Scores (W, V) of the W real words of a batch, ENDs among them, and the words (W,)."""
        language = self.model.language
        photos = torch.stack([self.lessons.photos[one] for one in batch]).to(self.device)
        counts = torch.tensor([len(self.lessons.sentences[one]) for one in batch])
        given, wanted = shifted([line for one in batch for line in self.lessons.sentences[one]])
        given, wanted = given.to(self.device), wanted.to(self.device)  # (N, T) each
        # The CNN's cells are read once a photo, not once a sentence.
        owners = torch.arange(len(batch)).repeat_interleave(counts).to(self.device)
        state = tuple(part[owners] for part in language.look(photos))
        meant, _ = language(given, state)  # (N, T, E)
        real = wanted != PADDING
        return language.scores(meant[real]), wanted[real]


def shifted(sentences: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """What the model is given and what it shall say next, (N, T + 1) each, padded.

    Given starts with END and wanted ends with it, as in decoding.
    """
    end = torch.tensor([END])
    given = pad_sequence([torch.cat([end, line]) for line in sentences], True, END)
    wanted = pad_sequence([torch.cat([line, end]) for line in sentences], True, PADDING)
    return given, wanted


def word_indices(
    examples: Sequence[Example], words: Sequence[str], longest: int
) -> list[list[Tensor]]:
    """Each example's sentences as word indices (T,), cut to the longest length of a caption."""
    numbers = {word: number for number, word in enumerate(words, lstm.FIRST_WORD)}

    def indices(text: str) -> Tensor:
        said = caption_words(text)[:longest]
        return torch.tensor([numbers.get(word, lstm.UNKNOWN) for word in said], dtype=torch.long)

    return [[indices(text) for text in example.sentences] for example in examples]


def frozen_inputs(
    model: lstm.Model, examples: Sequence[Example], folder: Path, progress: Progress
) -> Inputs:
    """The frozen CNN's cells (R, C) of every photo, from the cache or computed into it."""
    return cached(
        folder / "images",
        model.image_key(),
        [example.image for example in examples],
        [file_digest(example.image) for example in examples],
        lambda paths: model.image_inputs([pixels(path) for path in paths]),
        progress,
        "photos",
    )


def measured(
    describe: Callable[[slice], list[list[Caption]]],
    examples: Sequence[Example],
    progress: Progress,
) -> Bleu:
    """BLEU of the best caption that `describe` has for each of a slice of the examples."""
    starts = range(0, len(examples), DESCRIBED)
    captions = [
        best[0].text
        for at in progress(starts, len(starts), "captions")
        for best in describe(slice(at, at + DESCRIBED))
    ]
    return bleu(captions, [example.sentences for example in examples])
