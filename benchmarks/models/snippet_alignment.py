"""Alignment of snippets with true boxes, by β: python -m benchmarks.models.snippet_alignment."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

import torch
import typer
from torch import Tensor
from torchvision.ops import box_iou

from models import checkpoint, shipped
from models.types import FragmentBag, Span
from models.vision.sight import ViewSight
from training.captioners import snippets
from training.captioners.regions import group_phrases
from training.captioners.train import frozen_inputs
from training.data import entities
from training.data import readers as folders
from training.data.corpus import Example
from training.data.entities import GroundedSentence, enclose
from training.evaluation.captions.bleu import bleu
from training.evaluation.embedding import read_pixels
from training.evaluation.localisation import IOU
from training.runs.folder import RunPlace
from training.runs.precision import half_precision
from training.runs.progress import silent

BETAS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
PRECISION = "bfloat16"  # of the matcher that ships


def main(
    data: Annotated[Path, typer.Option(help="Folder with entities.json.gz.")],
    cache: Annotated[Path, typer.Option(help="Frozen features are kept in here.")],
    photos: Annotated[int, typer.Option(help="The first so many of train.")] = 256,
) -> None:
    """Print the quality of snippets for each β.

    right: the percentage of snippets with a phrase that has a box whose region has IoU ≥ 0.5 with
    the box around all that the phrase means. BLEU: of snippets whose region has IoU ≥ 0.5 with a
    true box, against the phrases that name the box.
    """
    loaded = checkpoint.load(shipped.MATCHER)
    train = folders.read(data).split("train")
    place = RunPlace(cache, cache)
    inputs = frozen_inputs(loaded.model.image, train, place, PRECISION, silent)
    examples = train[:photos]
    bags = snippets.compare_sentences(loaded, examples, inputs[:photos], cache)
    truth = entities.read(entities.find(data) or data / entities.FILES[0])
    proposed = boxes(loaded.model.image.sight, examples)
    typer.echo("beta  snippets  words  right  BLEU-1 to 4")
    for beta in BETAS:
        results = [
            of_photo(example, photo_bags, photo_boxes, truth[example.image.name], beta)
            for example, photo_bags, photo_boxes in zip(examples, bags, proposed, strict=True)
        ]
        texts, right, described = (
            list(chain.from_iterable(part)) for part in zip(*results, strict=True)
        )
        score = bleu(
            [snippet for snippet, _ in described], [references for _, references in described]
        )
        words = sum(len(text.split()) for text in texts) / len(texts)
        typer.echo(
            f"{beta:4}  {len(texts):8,}  {words:5.2f}  {100 * sum(right) / len(right):5.1f}  "
            + " / ".join(f"{value:.1f}" for value in score.scores)
        )


@torch.inference_mode()
def boxes(sight: ViewSight, examples: Sequence[Example]) -> list[Tensor]:
    """The proposed boxes (R, 4) of photos, from the last view alone."""
    only = ViewSight(sight.names[-1:], "learned")
    with half_precision("cpu", PRECISION):
        return [only([read_pixels(example.image)])[1][0].float() for example in examples]


def of_photo(
    example: Example,
    bags: Sequence[FragmentBag],
    proposed: Tensor,
    grounded: Sequence[GroundedSentence],
    beta: float,
) -> tuple[list[str], list[bool], list[tuple[str, tuple[str, ...]]]]:
    """A photo's snippets, their truth if known, and those of true boxes."""
    phrases = {sentence.text: sentence.phrases for sentence in grounded}
    texts_of_boxes = group_phrases(grounded)
    overlap = box_iou(proposed, torch.tensor(list(texts_of_boxes)).view(-1, 4))  # (R, B)
    texts, right, described = [], [], []
    for text, bag in zip(example.sentences, bags, strict=True):
        for snippet in snippets.align(bag, beta):
            texts.append(snippet.span.of(text))
            for phrase in phrases.get(text, ()):
                if inside(phrase.span, snippet.span):
                    true = torch.tensor([enclose(phrase.boxes)])
                    right.append(bool(box_iou(proposed[snippet.region][None], true) >= IOU))
            if len(texts_of_boxes) and overlap[snippet.region].max() >= IOU:
                best = int(overlap[snippet.region].argmax())
                described.append((texts[-1], list(texts_of_boxes.values())[best]))
    return texts, right, described


def inside(part: Span, whole: Span) -> bool:
    """Return whether a whole has the part's last word, its noun."""
    return whole.start < part.end <= whole.end


if __name__ == "__main__":
    typer.run(main)
