"""Probabilities without captions, held against the truth of captions.

Each matcher's are estimated from the reference photos and sentences that ship. What a spread above
chance is worth is fitted on the other matchers, on photos of Flickr8k's train that none of them
learned from; the error is measured on photos of val and of another corpus.

    tessera train bow --photos 1024 --data flickr8k/    # and other presets
    python -m benchmarks.models.unlabelled_probabilities models/pretrained/matcher.safetensors
      --fit runs/*-1024-photos-0/matcher.safetensors --data flickr8k/ --check pascal_part/
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from torch import Tensor

from models import checkpoint
from models.checkpoint import Checkpoint
from models.scores.calibration import Calibration, PairKind
from models.types import WHOLE_FRAME, FragmentBag
from training.data import readers
from training.data.corpus import Corpus, Example
from training.encoders import reference
from training.evaluation.embedding import embed, encode_inputs
from training.evaluation.reliability import best_threshold, reliability
from training.evaluation.true_answers import ParsedPhotos
from training.matchers.frozen import FrozenInputs, precision_of
from training.matchers.probabilities.calibration import (
    LabelledPairs,
    SearchedSplit,
    choose_pairs,
    choose_sides,
    fit,
    pick_evenly,
    prepare_split,
    probabilities,
    score_all,
)
from training.matchers.probabilities.unlabelled import (
    WEAK_BELOW,
    WORTH,
    Worth,
    calibrate_unlabelled,
)
from training.matchers.regression import logistic
from training.runs.folder import RunPlace
from training.runs.progress import Progress, on

LEARNED = 1024  # photos of train that the matchers may have learned from
FITTED, MEASURED = 512, 600  # photos at most
FIT = "fit"  # the split to fit on
Z = dict.fromkeys(PairKind, Worth(1.0, 0.0))  # log odds that are spreads above chance


@dataclass(frozen=True, slots=True)
class Part:
    """A split's examples, and photos outside of it."""

    name: str
    examples: Sequence[Example]
    most: int
    outside: Sequence[Example]


@dataclass(frozen=True, slots=True)
class EmbeddedMatcher:
    """A matcher's references, and its splits by name."""

    name: str
    matcher: Any  # with the name of its score
    photos: list[FragmentBag]
    sentences: list[FragmentBag]
    splits: Mapping[str, SearchedSplit]

    def estimate(self, worth: Mapping[PairKind, Worth]) -> Calibration:
        """Estimate its calibration from the references."""
        return calibrate_unlabelled(self.matcher, self.photos, self.sentences, worth)


@dataclass(frozen=True, slots=True)
class Reliabilities:
    """A matcher's measured errors on a split.

    `nothing` is F1 of "nothing looks like that", `labelled` the same with a calibration that was
    fitted on these very photos.
    """

    errors: dict[PairKind, float]
    share: float  # of pairs of texts and photos that are true
    nothing: float
    labelled: float


def list_parts(corpus: Corpus, check: Corpus) -> list[Part]:
    """The split to fit on, and two to measure on."""
    train = corpus.split("train")
    return [
        Part(FIT, train[LEARNED : LEARNED + FITTED], FITTED, pick_evenly(train[2000:], FITTED, 0)),
        Part(f"{corpus.name} val", corpus.split("val"), MEASURED, pick_evenly(train, MEASURED, 0)),
        Part(f"{check.name} val", check.split("val"), MEASURED, pick_evenly(train, MEASURED, 1)),
    ]


def embed_matcher(
    file: Path,
    parts: Sequence[Part],
    parsed: Mapping[str, ParsedPhotos],
    cache: Path,
    watch: Progress,
) -> EmbeddedMatcher:
    """Embed references and splits, or read them from the cache."""
    loaded, name = checkpoint.load(file), file.parent.name if file.stem == "matcher" else file.stem
    texts, splits = reference.list_sentences(), dict[str, SearchedSplit]()
    model = loaded.model
    photos = remember(
        cache / f"{loaded.fingerprint}.photos.pt",
        lambda: reference.embed_readable(model, reference.list_sample(), watch)[0],
    )
    sentences = remember(
        cache / f"{loaded.fingerprint}.sentences.pt",
        lambda: embed(model.embed_sentences, texts, watch, "sentences"),
    )
    for part in parts:
        splits[part.name] = remember(
            cache / f"{loaded.fingerprint}.{part.name}.pt",
            partial(embed_part, loaded, file, part, parsed[part.name], cache, watch),
        )
    return EmbeddedMatcher(name, SimpleNamespace(score=model.score), photos, sentences, splits)


def embed_part(
    loaded: Checkpoint, file: Path, part: Part, parsed: ParsedPhotos, cache: Path, watch: Progress
) -> SearchedSplit:
    """Embed a split's photos and texts, with cached features."""
    place = RunPlace(file.parent, cache)
    inputs = FrozenInputs(loaded.model, place, precision_of(loaded), watch)
    features = inputs.photos(part.examples, part.name)
    chosen = [features[k] for k in range(min(part.most, len(features)))]
    bags = [
        FragmentBag(vectors, (WHOLE_FRAME,) * len(vectors), ("",) * len(vectors))
        for vectors in encode_inputs(loaded.model, chosen, watch)
    ]
    return prepare_split(loaded.model, parsed, bags, part.outside, watch)


def remember(file: Path, make: Any) -> Any:
    """Read from a file, or make and write."""
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        torch.save(make(), file)
    return torch.load(file, weights_only=False)  # this script's own


def fit_worth(matchers: Sequence[EmbeddedMatcher]) -> tuple[dict[PairKind, Worth], float]:
    """Fit the worth of spreads, and the line of weak hits."""
    worth, line = {}, 0.0
    for kind in PairKind:
        above, true = list[Tensor](), list[NDArray[np.bool_]]()
        for matcher in matchers:
            calibration = matcher.estimate(Z)
            pairs = choose_pairs(calibration, matcher.matcher, matcher.splits[FIT], kind, "cpu")
            above.append(pairs.features @ calibration.coefficients[kind.value])
            true.append(pairs.truth)
        x, y = torch.cat(above).double(), np.concatenate(true)
        columns = torch.stack([x, torch.ones_like(x)], 1)
        slope, level = logistic(columns, torch.from_numpy(y).double()).tolist()
        worth[kind] = Worth(slope, level)
        if kind is PairKind.TEXT_IN_PHOTO:
            line = best_threshold(torch.sigmoid(slope * x + level).numpy(), y)
    return worth, line


def measure(
    matcher: EmbeddedMatcher, split: SearchedSplit, worth: Mapping[PairKind, Worth], line: float
) -> Reliabilities:
    """Measure a matcher's estimated probabilities on a split."""
    calibration, pairs = matcher.estimate(worth), dict[PairKind, LabelledPairs]()
    for kind in PairKind:
        pairs[kind] = choose_pairs(calibration, matcher.matcher, split, kind, "cpu")
    errors = {
        kind: reliability(probabilities(calibration, of_kind), of_kind.truth).error
        for kind, of_kind in pairs.items()
    }
    asked = pairs[PairKind.TEXT_IN_PHOTO]
    fitted = torch.stack([fit(of_kind) for of_kind in pairs.values()])
    labelled = replace(calibration, coefficients=fitted)
    labelled_line = best_threshold(probabilities(labelled, asked), asked.truth)
    return Reliabilities(
        errors,
        float(asked.truth.mean()),
        find_nothing(matcher, split, calibration, line),
        find_nothing(matcher, split, labelled, labelled_line),
    )


def find_nothing(
    matcher: EmbeddedMatcher, split: SearchedSplit, calibration: Calibration, line: float
) -> float:
    """F1 of "nothing looks like it", by a line.

    Each text with an answer is asked twice, with its answers and with all of them taken out.
    """
    queries, rows, truth, _ = choose_sides(split, PairKind.TEXT_IN_PHOTO)
    scores = score_all(matcher.matcher, queries, rows, "cpu")
    sums = torch.stack([bag.vectors.float().sum(0) for bag in queries]).numpy()
    sizes = np.array([len(bag) for bag in queries])
    likely, gone = np.zeros(len(queries)), np.zeros(len(queries))
    for best, out in ((likely, scores), (gone, np.where(truth, -np.inf, scores))):
        best[:] = calibration.probabilities(PairKind.TEXT_IN_PHOTO, out.max(0), sums, sizes)
    answered = truth.any(0)
    right = int((gone[answered] < line).sum())
    wrong = int((likely[answered] < line).sum())
    return 2 * right / (right + wrong + int(answered.sum()))


def main() -> None:
    """Print a line for each matcher and split."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("checkpoints", type=Path, nargs="+")
    options.add_argument("--fit", type=Path, nargs="+", default=[], help="[default: as shipped]")
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--check", type=Path, required=True)
    options.add_argument("--cache", type=Path, default=Path(".tessera/features"))
    arguments = options.parse_args()
    console = Console(width=150)
    corpus, check = readers.read(arguments.data, None), readers.read(arguments.check, None)
    fitted, *measured = list_parts(corpus, check)
    parsed = {
        part.name: remember(
            arguments.cache / f"parsed.{part.name}.pt",
            partial(ParsedPhotos.of, part.examples[: part.most]),
        )
        for part in (fitted, *measured)
    }
    embedded = partial(embed_matcher, parsed=parsed, cache=arguments.cache, watch=on(console))
    taught = {file: embedded(file, [fitted]) for file in arguments.fit}
    table = Table("matcher", "split", "worth", "line", *(kind.name for kind in PairKind), "true")
    table.add_column("nothing, F1")
    table.add_column("with labels")
    for file in arguments.checkpoints:
        matcher = embedded(file, measured)
        others = [other for name, other in taught.items() if name != file]
        worth, line = fit_worth(others) if others else (WORTH, WEAK_BELOW)
        for name, split in matcher.splits.items():
            table.add_row(
                matcher.name, name, *format_row(measure(matcher, split, worth, line), worth, line)
            )
    console.print(table)
    if taught:
        console.print(fit_worth(list(taught.values())))


def format_row(estimate: Reliabilities, worth: Mapping[PairKind, Worth], line: float) -> list[str]:
    """The numbers of a line of the table."""
    known = worth[PairKind.TEXT_IN_PHOTO]
    numbers = (*estimate.errors.values(), estimate.share, estimate.nothing, estimate.labelled)
    return [
        f"{known.slope:.2f}, {known.level:.2f}",
        f"{line:.2f}",
        *(f"{number:.3f}" for number in numbers),
    ]


if __name__ == "__main__":
    main()
