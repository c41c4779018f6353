"""Search over photos without sentences: categories and natural queries as texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from torch import Tensor

from models.registry import Matcher
from training.data.corpus import Example
from training.evaluation.categories import CategorySearch, category_search, frequent, members_of
from training.evaluation.embedding import embed, embed_photos
from training.evaluation.queries import NaturalQuery, QuerySearch, query_search
from training.evaluation.retrieval import Floats
from training.evaluation.score_matrix import score_matrix
from training.runs.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class OpenWorld:
    """A search by categories for each field, and a search by natural queries."""

    categories: tuple[CategorySearch, ...]
    queries: QuerySearch | None


def open_world(
    matcher: Matcher,
    examples: Sequence[Example],
    fields: Sequence[str] = (),
    queries: Sequence[NaturalQuery] = (),
    progress: Progress = silent,
    device: str = "cpu",
    vectors: Callable[[], Sequence[Tensor]] | None = None,
) -> OpenWorld:
    """Embed photos once; rank them for each value and query.

    `vectors` gives the photos' vectors, (R_k, D) each, if they are already known. LookupError for
    an absent field or photo, ValueError for a text that the matcher cannot take.
    """
    values = {field: members_of(examples, field) for field in fields}
    common = {field: frequent(members) for field, members in values.items()}
    photo_vectors = (
        vectors() if vectors else [bag.vectors for bag in embed_photos(matcher, examples, progress)]
    )
    scored = partial(scores, matcher, photo_vectors, progress, device)
    return OpenWorld(
        categories=tuple(
            category_search(
                field,
                scored(list(members)),
                list(members.values()),
                rare=len(values[field]) - len(members),
            )
            for field, members in common.items()
        ),
        queries=query_search(
            scored([query.text for query in queries]), [example.id for example in examples], queries
        )
        if queries
        else None,
    )


def scores(
    matcher: Matcher,
    photo_vectors: Sequence[Tensor],
    progress: Progress,
    device: str,
    texts: Sequence[str],
) -> Floats:
    """Compute scores (K, L) of K photos, (R_k, D) each, and L texts."""
    bags = embed(matcher.embed_sentences, texts, progress, "queries")
    vectors = [bag.vectors for bag in bags]
    return score_matrix(photo_vectors, vectors, matcher.score, device, progress)
