"""All measurements of a matcher on a split, as served."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from models.registry import Matcher
from models.types import FragmentBag
from training.data.corpus import Example
from training.data.entities import GroundedSentence, GroundTruth
from training.evaluation.embedding import embed, embed_photos
from training.evaluation.faithfulness import Faithfulness, faithfulness
from training.evaluation.localisation import Localisation, LocatedPhrase, localisation, locate
from training.evaluation.occlusion import Occlusion, Pair, occlusion
from training.evaluation.retrieval import (
    Direction,
    Retrieval,
    rank_first_sentences,
    retrieval,
)
from training.evaluation.score_matrix import measure_similarity, score_matrix
from training.runs.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class MatcherMeasures:
    """A split's metrics, some of them None.

    None for those that do not apply.

    starred: retrieval with the first sentence of each photo alone. similarity: sentences ranked by
    sentences, if every photo has several. grounding: if phrases have true boxes. faithfulness: of
    each photo with its first sentence, if photos have several regions. occlusion: of a sample of
    these pairs, if asked for.
    """

    images: int
    sentences: int
    retrieval: Retrieval
    starred: Retrieval
    similarity: Direction | None
    grounding: Localisation | None
    faithfulness: Faithfulness | None
    seconds: float
    occlusion: Occlusion | None = None


def measure(
    matcher: Matcher,
    examples: Sequence[Example],
    boxes: GroundTruth | None = None,
    progress: Progress = silent,
    device: str = "cpu",
    occluded: int = 0,
) -> MatcherMeasures:
    """Embed a split, score all pairs exactly, and rank them.

    `boxes` maps file names to grounded sentences. `occluded` photos are embedded again without one
    of their regions. ValueError names a photo or sentence that the matcher cannot take.
    """
    began = time.perf_counter()
    images = embed_photos(matcher, examples, progress)
    grounded = [list((boxes or {}).get(example.image.name, ())) for example in examples]
    bags = embed_sentences(matcher, examples, grounded, progress)
    vectors = [bag.vectors for bag in images]
    ranked = measure_ranks(matcher, examples, vectors, bags, progress, device)
    phrases = list(locate_phrases(images, grounded, bags))
    pairs = [
        Pair(example.image, image, bags[example.sentences[0]])
        for example, image in zip(examples, images, strict=True)
    ]
    return replace(
        ranked,
        grounding=localisation(phrases) if phrases else None,
        faithfulness=faithfulness(((pair.image, pair.sentence) for pair in pairs), matcher.score),
        occlusion=occlusion(matcher, pairs, occluded, progress=progress),
        seconds=time.perf_counter() - began,
    )


def measure_ranks(
    matcher: Matcher,
    examples: Sequence[Example],
    images: Sequence[Tensor],
    bags: Mapping[str, FragmentBag] | None = None,
    progress: Progress = silent,
    device: str = "cpu",
) -> MatcherMeasures:
    """Measure photos' vectors (R_k, D), without grounding and links.

    `bags` are the sentences' bags by their texts, if known.
    """
    began = time.perf_counter()
    if bags is None:
        bags = embed_sentences(matcher, examples, (), progress)
    owners = [number for number, example in enumerate(examples) for _ in example.sentences]
    sentences = [bags[text] for example in examples for text in example.sentences]
    vectors = [sentence.vectors for sentence in sentences]
    scores = score_matrix(images, vectors, matcher.score, device, progress)  # (K, L)
    return MatcherMeasures(
        images=len(images),
        sentences=len(vectors),
        retrieval=retrieval(scores, owners),
        starred=rank_first_sentences(scores, owners),
        similarity=measure_similarity(vectors, owners, sentences[0].of_terms),
        grounding=None,
        faithfulness=None,
        seconds=time.perf_counter() - began,
    )


def embed_sentences(
    matcher: Matcher,
    examples: Sequence[Example],
    grounded: Sequence[Sequence[GroundedSentence]],
    progress: Progress,
) -> dict[str, FragmentBag]:
    """Embed every sentence, those of true boxes included, by its text."""
    texts = dict.fromkeys(text for example in examples for text in example.sentences)
    boxed = {sentence.text for sentences in grounded for sentence in sentences}
    distinct = [*texts, *sorted(boxed - texts.keys())]
    embeddings = embed(matcher.embed_sentences, distinct, progress, "sentences")
    return dict(zip(distinct, embeddings, strict=True))


def locate_phrases(
    images: Sequence[FragmentBag],
    grounded: Sequence[Sequence[GroundedSentence]],
    bags: Mapping[str, FragmentBag],
) -> Iterator[LocatedPhrase]:
    """Score every photo's boxes for each of its boxed phrases."""
    for image, sentences in zip(images, grounded, strict=True):
        for sentence in sentences:
            for phrase in sentence.phrases:
                yield locate(image, bags[sentence.text], phrase)
