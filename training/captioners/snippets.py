"""Snippets: parts of sentences, each aligned with a region by a matcher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from models import checkpoint
from models.checkpoint import Checkpoint
from models.scores.alignment import decode_chain
from models.scores.word_groups import join_neighbours, word_groups
from models.shipped import PRETRAINED
from models.text.lexicon import DETERMINERS, is_function_word, plain
from models.towers import Sight
from models.types import WHOLE_SENTENCE, FragmentBag, Span
from models.vision.sight import ViewSight
from training.data.corpus import Example
from training.data.digests import digest, file_digest
from training.evaluation.embedding import encode_inputs
from training.matchers.frozen import FrozenInputs, precision_of
from training.runs.cache import load_or_compute
from training.runs.folder import RunPlace
from training.runs.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class SnippetOptions:
    """The inference of snippets: a shipped matcher's name, and β of eq. 12.

    most: the most words of a snippet; longer ones are left out.
    """

    matcher: str = "matcher"
    beta: float = 0.05
    most: int = 10

    def __post_init__(self) -> None:
        if not self.beta >= 0 or self.most < 1:
            raise ValueError(
                f"[snippets] beta is {self.beta} and most {self.most}; use at least 0 and 1"
            )


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a sentence and its region.

    Region 0 is the frame.
    """

    region: int
    span: Span


def describe_by_snippets(
    sight: Sight,
    examples: Sequence[Example],
    inputs: Sequence[Tensor],
    options: SnippetOptions,
    cache: Path,
    progress: Progress = silent,
) -> tuple[list[Tensor], list[Example]]:
    """Find the regions of photos with snippets: their rows (1, C), and the snippets.

    `inputs` (F, C) are the sight's features of each photo. ValueError for a sight with other
    regions than the matcher's.
    """
    loaded = checkpoint.load(PRETRAINED / f"{options.matcher}.safetensors")
    other = loaded.model.sight
    if not isinstance(sight, ViewSight) or sight.regions_key() != other.regions_key():
        raise ValueError(
            f"[snippets] matcher {options.matcher!r} sees other regions than the captioner: "
            "give [model] its last view, with the same weights, and its proposals"
        )
    by_matcher = inputs
    if sight.key() != other.key():
        frozen = FrozenInputs(loaded.model, RunPlace(cache, cache), precision_of(loaded), progress)
        by_matcher = frozen.photos(examples, "snippets")
    rows: list[Tensor] = []
    described: list[Example] = []
    bags = compare_sentences(loaded, examples, by_matcher, cache, progress)
    for example, features, sentences in zip(examples, inputs, bags, strict=True):
        vectors = sight.regions(features)  # (R, C)
        for region, texts in group_by_region(example, sentences, options).items():
            rows.append(vectors[region : region + 1].clone())  # without the photo's other rows
            described.append(replace(example, id=f"{example.id} {region}", sentences=texts))
    return rows, described


def group_by_region(
    example: Example, sentences: Sequence[FragmentBag], options: SnippetOptions
) -> dict[int, tuple[str, ...]]:
    """Group the texts of a photo's snippets by their regions."""
    texts: dict[int, tuple[str, ...]] = {}
    for text, sentence in zip(example.sentences, sentences, strict=True):
        for snippet in align(sentence, options.beta):
            phrase = snippet.span.of(text)
            if len(phrase.split()) <= options.most:
                texts[snippet.region] = (*texts.get(snippet.region, ()), phrase)
    return texts


def align(sentence: FragmentBag, beta: float) -> list[Snippet]:
    """Align segments of a sentence with regions (Karpathy & Fei-Fei 2015, section 3.1.4).

    The sentence's vectors are the similarities (T, R) of its fragments with regions. The chain runs
    over content words, each with the function words before it, which alone have almost no region.
    """
    groups = word_groups(sentence)
    heads = torch.stack([sentence.vectors[list(group.heads)].sum(0) for group in groups])  # (G, R)
    segments, aligned_regions = join_neighbours(sentence, groups, decode_chain(heads, beta))
    return [
        Snippet(region, span)
        for segment, region in zip(segments, aligned_regions, strict=True)
        if sentence.labels[segment.heads[0]] != WHOLE_SENTENCE
        and (span := trim(sentence, segment.fragments))
    ]


def trim(sentence: FragmentBag, fragments: Sequence[int]) -> Span | None:
    """Cut function words off both ends of a segment.

    None if no other is left.

    Determiners before the first content word stay: "in the grass" becomes "the grass".
    """
    words = [plain(sentence.labels[fragment]) for fragment in fragments]
    content = [at for at, word in enumerate(words) if not is_function_word(word)]
    if not content:
        return None
    start = content[0]
    while start and words[start - 1] in DETERMINERS:
        start -= 1
    first, last = (sentence.places[fragments[at]] for at in (start, content[-1]))
    assert isinstance(first, Span)
    assert isinstance(last, Span)
    return Span(first.start, last.end)


def compare_sentences(
    loaded: Checkpoint,
    examples: Sequence[Example],
    inputs: Sequence[Tensor],
    cache: Path,
    progress: Progress = silent,
) -> list[list[FragmentBag]]:
    """Compare each photo's sentences with its regions: similarities (T, R).

    The similarities come from the cache, or are computed into it by the matcher.
    """
    matcher = loaded.model

    def similarities(positions: Sequence[int]) -> list[Tensor]:
        photos = encode_inputs(matcher, [inputs[position] for position in positions])
        texts = {text for position in positions for text in examples[position].sentences}
        alike = sorted(texts, key=len)  # sentences of a length need no padding
        bags = dict(zip(alike, matcher.embed_sentences(alike), strict=True))
        return [
            torch.cat([bags[text].vectors @ photo.T for text in examples[position].sentences])
            for position, photo in zip(positions, photos, strict=True)
        ]

    alignments = load_or_compute(
        cache / "similarities",
        loaded.fingerprint,
        range(len(examples)),
        [digest(file_digest(example.image), *example.sentences) for example in examples],
        similarities,
        progress,
        "alignments",
    )
    reader = matcher.text.reader
    return [
        place_fragments(
            [reader.places(sentence) for sentence in reader.parse(example.sentences)], rows
        )
        for example, rows in zip(examples, alignments, strict=True)
    ]


def place_fragments(
    places: Sequence[Sequence[tuple[str, Span]]], rows: Tensor
) -> list[FragmentBag]:
    """Split rows (ΣT, R) of a photo into a bag a sentence, with places."""
    parts = rows.split([len(labelled) for labelled in places])  # type: ignore[no-untyped-call]  # torch leaves it so
    return [
        FragmentBag(
            part, tuple(span for _, span in labelled), tuple(label for label, _ in labelled)
        )
        for part, labelled in zip(parts, places, strict=True)
    ]
