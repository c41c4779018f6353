"""Training of the captioner that ships: text first, then photos; then a reward for whole captions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from models import checkpoint
from models.captioners import attentive
from models.captioners.attentive import Model
from models.captioning import FIRST_WORD, UNKNOWN
from models.decoding import END, Limits, sample
from models.matcher import Matcher
from models.registry import Generation
from models.types import PaddedBags
from training import inheritance, language
from training.captioning import (
    BEAM,
    PRESETS,
    CaptionBatch,
    CaptionDataset,
    frozen_inputs,
    logits,
    measured,
    shifted,
    word_indices,
)
from training.data.captions import caption_words
from training.data.corpus import Corpus, Example
from training.evaluation.captioning import Bleu
from training.evaluation.cider import Cider
from training.fitting import TELL_NOBODY, Teller, fit
from training.folder import Place, RunFolder
from training.language import MixedDataset, Step, text_logits
from training.loop import Measured, Part, Trainer, half_precision, shuffled
from training.optimization import Optimizer, Schedule
from training.preset import made, refuse_unknown


@dataclass(frozen=True, slots=True)
class Reward:
    """Self-critical training: `samples` captions of each photo, `truth` the weight of its own.

    photos: in a step.
    """

    samples: int = 5
    photos: int = 32
    truth: float = 0.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the captioner is trained; with a reward it begins with a trained one."""

    options: dict[str, Any]
    optimizer: Optimizer
    schedule: Schedule
    text: language.Options
    reward: Reward | None = None
    label_smoothing: float = 0.0
    least_count: int = 5


def read(preset: str) -> Recipe:
    path = inheritance.located(preset if preset.endswith(".toml") else f"{PRESETS}/{preset}")
    tables = inheritance.resolved(path)
    model = dict(tables.get("model", {}))
    model.pop("name")
    return Recipe(
        model,
        made(Optimizer, tables.get("optimizer", {}), "[optimizer]"),
        made(Schedule, tables.get("schedule", {}), "[schedule]"),
        made(language.Options, tables.get("text", {}), "[text]"),
        made(Reward, tables["reward"], "[reward]") if "reward" in tables else None,
        **tables.get("objective", {}),
    )


def train(
    corpus: Corpus,
    place: Place,
    recipe: Recipe,
    matcher_file: Path,
    text_file: Path | None,
    *,
    resume: bool = False,
    teller: Teller = TELL_NOBODY,
) -> Bleu:
    folder = RunFolder.of_part("captioners", "attentive", corpus, place, {"recipe": asdict(recipe)})
    folder.claim(resume)
    torch.manual_seed(place.seed)
    loaded = checkpoint.load(matcher_file)
    matcher: Matcher = loaded.model
    examples, validated = corpus.split("train"), corpus.split("val")
    texts = language.texts(corpus, text_file, recipe.text)
    precision = recipe.schedule.precision
    vectors = language.vectors(
        matcher, loaded.fingerprint, texts, place.cache, precision, teller.progress
    )
    if place.start:
        model = checkpoint.load(place.start).model
    else:
        words = vocabulary(texts, recipe.least_count)
        model = Model(attentive.Config(words=words, image=matcher.config.image, **recipe.options))
    model = model.to(place.device).float()
    photos = frozen_inputs(model, examples, place, precision, teller.progress)
    photos = list(photos)
    if not place.start:
        model.language.prepare(matcher, photos, vectors)
    limit = model.config.longest
    dataset = CaptionDataset(photos, word_indices(examples, model.config.words, limit), recipe.schedule.batch)
    known = {word: number for number, word in enumerate(model.config.words, FIRST_WORD)}
    lines = [
        torch.tensor([known.get(word, UNKNOWN) for word in caption_words(one)[:limit]]) for one in texts
    ]
    mixed = MixedDataset(dataset, vectors, lines, recipe.text)

    def validate() -> Measured:
        model.eval()
        inputs = frozen_inputs(model, validated, place, precision, teller.progress)
        captions: list[str] = []

        def describe(part: slice):
            best = model.describe(inputs[part], Generation(BEAM))
            captions.extend(one[0].text for one in best)
            return best

        score = measured(describe, validated, teller.progress)
        cider = Cider([[caption_words(s) for s in e.sentences] for e in validated])
        reward = cider.scores([caption_words(c) for c in captions], range(len(captions))).mean()
        return Measured({"beam": BEAM, "cider": float(reward)} | asdict(score))

    objective = Objective(model, recipe, place.device, examples)
    part = Part(model, mixed, objective, validate, once=True)
    trainer = Trainer(part, recipe.optimizer, recipe.schedule, place.device)
    validation = fit(trainer, folder, teller, resume=resume)
    return Bleu(tuple(validation["scores"]), validation["length_ratio"])


def vocabulary(texts: Sequence[str], least_count: int) -> tuple[str, ...]:
    counts = Counter(word for one in texts for word in caption_words(one))
    kept = sorted((-count, word) for word, count in counts.items() if count >= least_count)
    return tuple(word for _, word in kept)


class Objective:
    """The loss of a step: cross entropy of words, or a reward of whole captions."""

    def __init__(self, model: Model, recipe: Recipe, device: str, examples: Sequence[Example]):
        self.model, self.recipe, self.device = model, recipe, device
        if recipe.reward:
            self.cider = Cider([[[*caption_words(s), "."] for s in e.sentences] for e in examples])
            self.last = 0.0

    def __call__(self, step: Step, epoch: int) -> Tensor:
        loss = torch.zeros((), device=self.device)
        with half_precision(self.device, self.recipe.schedule.precision):
            if step.texts is not None:
                weight = self.recipe.text.weight if step.photos else 1.0
                loss = loss + weight * self.entropy(*text_logits(self.model, step.texts, self.device))
            if step.photos is not None:
                if self.recipe.reward:
                    loss = loss + self.critical(step.photos)
                    if self.recipe.reward.truth:
                        loss = loss + self.recipe.reward.truth * self.entropy(*logits(self.model, step.photos, self.device))
                else:
                    loss = loss + self.entropy(*logits(self.model, step.photos, self.device))
        return loss

    def entropy(self, predicted: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(predicted.float(), targets, label_smoothing=self.recipe.label_smoothing)

    def critical(self, batch: CaptionBatch) -> Tensor:
        model, n = self.model, self.recipe.reward.samples
        K = len(batch.photos)
        inputs = list(batch.photos.to(self.device))
        model.eval()
        with torch.no_grad():
            step, state = model.start(inputs)
            many = tuple(part.repeat_interleave(n, 0) for part in state)
            found = sample(step, many, Limits(model.config.longest, 1, (UNKNOWN,)))
        model.train()
        lines = [torch.tensor(one.words) for one in found]
        texts = [[*(model.config.words[w - FIRST_WORD] for w in one.words), "."] for one in found]
        owners = [batch.positions[k] for k in range(K) for _ in range(n)]
        rewards = torch.from_numpy(self.cider.scores(texts, owners)).float().view(K, n)
        self.last = 0.98 * self.last + 0.02 * float(rewards.mean())
        self.n = getattr(self, 'n', 0) + 1
        if self.n % 47 == 0: print('reward', self.n, self.last, flush=True)
        advantage = (rewards - (rewards.sum(1, keepdim=True) - rewards) / (n - 1)).flatten()
        given, targets = shifted(lines)
        owner = torch.arange(K).repeat_interleave(n)
        predicted, gold = logits(model, CaptionBatch(batch.photos, owner, given, targets), self.device)
        picked = -F.cross_entropy(predicted.float(), gold, reduction="none")
        place = (targets != -1).nonzero()[:, 0]
        return -(advantage[place] * picked).mean()
