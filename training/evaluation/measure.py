"""What a matcher is worth on a split, by the same path that a service takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from torch import Tensor

from models.images import decode
from models.registry import Matcher
from models.types import FragmentBag
from training.data.corpus import Example
from training.data.entities import GroundedSentence
from training.evaluation.faithfulness import Faithfulness, faithfulness
from training.evaluation.localisation import Localisation, Localised, localisation, located
from training.evaluation.retrieval import Direction, Retrieval, retrieval, starred
from training.evaluation.scores import score_matrix
from training.evaluation.similarity import similarity
from training.progress import Progress, silent

Item = TypeVar("Item")
Boxes = Mapping[str, Sequence[GroundedSentence]]
BATCH = 32


@dataclass(frozen=True, slots=True)
class Measured:
    """A split's metrics, and None for those that it or the matcher has no ground for.

    starred: retrieval with the first sentence of each photo alone. similarity: sentences ranked by
    sentences, where every photo has several. grounding: where phrases have true boxes.
    faithfulness: of each photo with its first sentence, where photos have several regions.
    """

    images: int
    sentences: int
    retrieval: Retrieval
    starred: Retrieval
    similarity: Direction | None
    grounding: Localisation | None
    faithfulness: Faithfulness | None
    seconds: float


def measure(
    matcher: Matcher,
    examples: Sequence[Example],
    boxes: Boxes | None = None,
    progress: Progress = silent,
    device: str = "cpu",
) -> Measured:
    """Embed a split's photos and sentences, score all pairs exactly, and rank them.

    `boxes` maps file names to grounded sentences. ValueError says which photo or sentence the
    matcher cannot take.
    """
    began = time.perf_counter()
    texts = [sentence for example in examples for sentence in example.sentences]
    images = photos(matcher, examples, progress)
    grounded = [list((boxes or {}).get(example.image.name, ())) for example in examples]
    extra = {one.text for sentences in grounded for one in sentences} - set(texts)
    said = list(dict.fromkeys(texts)) + sorted(extra)
    spoken = embedded(matcher.embed_sentences, said, progress, "sentences")
    bags = dict(zip(said, spoken, strict=True))
    sentences = [bags[text] for text in texts]
    vectors = [bag.vectors for bag in sentences]
    scored = partial(score_matrix, score=matcher.score, device=device, progress=progress)
    scores = scored([bag.vectors for bag in images], vectors)  # (K, L)
    owners = [number for number, example in enumerate(examples) for _ in example.sentences]
    firsts = [bags[example.sentences[0]] for example in examples]
    several = all(len(example.sentences) > 1 for example in examples)
    phrases = list(of_phrases(images, grounded, bags))
    return Measured(
        images=len(images),
        sentences=len(texts),
        retrieval=retrieval(scores, owners),
        starred=starred(scores, owners),
        # A sentence that asks takes the sentence's role, as in a search.
        similarity=similarity(scored(vectors, vectors).T, owners) if several else None,
        grounding=localisation(phrases) if phrases else None,
        faithfulness=faithfulness(zip(images, firsts, strict=True), matcher.score),
        seconds=time.perf_counter() - began,
    )


def photos(matcher: Matcher, examples: Sequence[Example], progress: Progress) -> list[FragmentBag]:
    """The bag of every example's photo."""
    return embedded(
        lambda part: matcher.embed_images([pixels(path) for path in part]),
        [example.image for example in examples],
        progress,
        "photos",
    )


def embedded(
    embed: Callable[[Sequence[Item]], list[FragmentBag]],
    items: Sequence[Item],
    progress: Progress,
    what: str,
) -> list[FragmentBag]:
    """The bag of every item, a batch at a time."""
    starts = range(0, len(items), BATCH)
    return [
        bag for at in progress(starts, len(starts), what) for bag in embed(items[at : at + BATCH])
    ]


def of_phrases(
    images: Sequence[FragmentBag],
    grounded: Sequence[Sequence[GroundedSentence]],
    bags: Mapping[str, FragmentBag],
) -> Iterator[Localised]:
    """Every boxed phrase of every photo with the scores of the photo's boxes."""
    for image, sentences in zip(images, grounded, strict=True):
        for sentence in sentences:
            for phrase in sentence.phrases:
                yield located(image, bags[sentence.text], phrase)


def pixels(path: Path) -> Tensor:
    """A photo's pixels, uint8 (3, height, width); ValueError names the file that is broken."""
    try:
        return decode(path.read_bytes()).pixels
    except ValueError as broken:
        raise ValueError(f"{path}: {broken}") from broken
