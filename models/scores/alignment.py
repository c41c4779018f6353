"""Links of a photo and a sentence, and their phrases for people."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

from models.scores import sentences
from models.scores.scoring import has_whole, score_named
from models.scores.word_groups import Group, join_neighbours, word_groups
from models.text.queries import PLAIN, Counting, Query
from models.types import WHOLE_FRAME, FragmentBag, Link, Span

# β that joins neighbours whose regions differ little, with the scores of the shipped matcher.
BETA = 0.05

# The least share of a phrase's similarity that a region adds to the whole photo's part. Of the
# phrases of Flickr8k's val, boxes that add 5 to 15 % are right (IoU ≥ 0.5) for 34 %, those that add
# less for 21 %, those that add more for 40 %.
EARNED = 0.15


class Phrase(NamedTuple):  # no dataclass, as links
    """Neighbouring words with the sum of their links, so phrases add up to a score.

    `whole` is the whole photo's part of it, None if unknown. `region` is the region that earned a
    box, None if the photo as a whole answers. A negated phrase has a similarity of 0 or less. In a
    query of negated phrases alone, it is above 0 for photos without them. `pairs` names its
    fragments where they are pairs of words, of which the span has only the dependents.
    """

    span: Span
    similarity: float
    whole: float | None = None
    region: int | None = None
    negated: bool = False
    pairs: str | None = None

    def words(self, text: str) -> str:
        """Its words in a text."""
        return self.pairs or self.span.of(text)

    @property
    def added(self) -> float | None:
        """The part of regions, beyond the whole photo."""
        return None if self.whole is None else self.similarity - self.whole


def query_links(image: FragmentBag, query: Query, score: str = "sum_of_max") -> tuple[Link, ...]:
    """The terms of a query's score, whose sum is the score; fragments count in `query.bag`."""
    links = score_named(score).links
    return join_parts(query, [links(image, part) for part in query.parts], query.floored)


def region_links(
    image: FragmentBag, query: Query, region: int, score: str = "sum_of_max"
) -> tuple[Link, ...]:
    """The terms of a query's score for a region, which is that of a photo of it alone.

    With sum_of_max Σ_t v_iᵀ s_t. `whole` is what the whole photo would give in its place.
    """
    alone, named = image.alone(region), score_named(score)
    split = has_whole(image) and named.linear_alone
    part_links = []
    for part in query.parts:
        wholes = (part.vectors @ image.vectors[0]).tolist() if split else [None] * len(part)
        part_links.append(
            [
                link._replace(region=region, whole=wholes[link.fragment])
                for link in named.links(alone, part)
            ]
        )
    return join_parts(query, part_links, query.floored)


def text_links(sentence: FragmentBag, query: Query) -> tuple[Link, ...]:
    """The terms of a sentence's similarity to a text; regions count in the sentence."""
    part_links = [sentences.links(sentence, part) for part in query.parts]
    return join_parts(query, part_links, [False] * len(part_links))


def join_parts(
    query: Query, links: Sequence[Sequence[Link]], floored: Sequence[bool]
) -> tuple[Link, ...]:
    """Weigh the links of a query's parts; fragments count in `query.bag`."""
    terms: list[Link] = []
    start = 0
    for part, counting, floor, part_links in zip(
        query.parts, query.countings, floored, links, strict=True
    ):
        if counting.floored != floor:
            counting = replace(counting, floored=floor)
        plain = not start and counting == PLAIN
        terms += part_links if plain else [weigh(link, start, counting) for link in part_links]
        start += len(part)
    return tuple(terms)


def weigh(link: Link, start: int, counting: Counting) -> Link:
    """A link of a query's part, weighted and with its place in the query."""
    return link._replace(
        fragment=start + link.fragment,
        similarity=counting.of(link.similarity),
        whole=None if link.whole is None else counting.of(link.whole),
        negated=counting.weight < 0,
    )


def part_score(image: FragmentBag, part: FragmentBag, score: str, *, floored: bool) -> float:
    """S_p of a query's part, without its weight."""
    counting = Counting(1.0, floored)
    return sum(counting.of(link.similarity) for link in score_named(score).links(image, part))


def decode_chain(similarity: Tensor, beta: float) -> list[int]:
    """argmax_a Σ_j v_{a_j}ᵀ s_j + β Σ_j 1[a_j = a_{j+1}]   (Karpathy & Fei-Fei 2015, eq. 10-12).

    The paper speaks of minimising this energy; its terms are similarities, so the best alignment
    is the one that maximises it. similarity is (T, R); the result names a region for each word.
    β = 0 aligns every word alone; a large β gives the whole sentence one region.
    """
    if not beta >= 0:
        raise ValueError(f"beta is {beta}; it must be 0 or more")
    T, R = similarity.shape
    best = similarity[0]  # (R,) the best energy of a chain that ends in each region
    came_from = torch.zeros(T, R, dtype=torch.long)
    for t in range(1, T):
        switch, switched_from = best.max(dim=0)
        stays = best + beta >= switch  # switching pays only when it beats staying
        came_from[t] = torch.where(stays, torch.arange(R), switched_from)
        best = torch.where(stays, best + beta, switch) + similarity[t]
    regions = [int(best.argmax())]
    for t in range(T - 1, 0, -1):
        regions.append(int(came_from[t, regions[-1]]))
    return regions[::-1]


def phrases(
    image: FragmentBag, query: Query, links: Sequence[Link], beta: float | None = None
) -> tuple[Phrase, ...]:
    """Phrases of a text and a photo: content words with their function words.

    A photo in the same query has no phrases.

    With `beta`, chain decoding over the phrases joins neighbours that share a region. Without
    one, each has the region of its content word.
    """
    if len(query.parts) == 1:
        links_of: Sequence[Sequence[Link]] = [links]
    else:
        links_of = split_parts(query, links)
    phrase_list: list[Phrase] = []
    for part, part_links in zip(query.parts, links_of, strict=True):
        if isinstance(part.places[0], Span):
            phrase_list += part_phrases(image, part, part_links, beta)
    return tuple(phrase_list)


def split_parts(query: Query, links: Sequence[Link]) -> list[list[Link]]:
    """The links of each part of a query; fragments count within it."""
    starts = list(accumulate(map(len, query.parts), initial=0))
    links_of: list[list[Link]] = [[] for _ in query.parts]
    for link in links:
        number = bisect_right(starts, link.fragment) - 1
        links_of[number].append(link._replace(fragment=link.fragment - starts[number]))
    return links_of


def part_phrases(
    image: FragmentBag, sentence: FragmentBag, links: Sequence[Link], beta: float | None
) -> list[Phrase]:
    """The phrases of one part of a query; links count within the part."""
    groups = word_groups(sentence)
    # Not by torch, see SumOfMax.links.
    vectors, region_vectors = (bag.vectors.numpy(force=True) for bag in (sentence, image))
    # A catalogue's terms are equal in all regions, so they do not choose one.
    if terms := max(sentence.of_terms, image.of_terms):
        vectors, region_vectors = vectors[:, :-terms], region_vectors[:, :-terms]
    similarity = vectors @ region_vectors.T  # (T, R)
    heads = groups.sum_heads(similarity)  # (G, R)
    if beta is None:
        regions: list[int] = heads.argmax(axis=1).tolist()
    else:
        chain = decode_chain(torch.from_numpy(heads), beta)
        groups, regions = join_neighbours(sentence, groups, chain)
        heads = groups.sum_heads(similarity)
    links_of: list[list[Link]] = [[] for _ in groups]
    for link in links:
        links_of[groups.owners[link.fragment]].append(link)
    return [
        phrase(group, group_links, region if earns_box(image, region, of_group) else None)
        for group, group_links, region, of_group in zip(
            groups, links_of, regions, heads.tolist(), strict=True
        )
    ]


def phrase(group: Group, group_links: Sequence[Link], region: int | None) -> Phrase:
    """One group's phrase, with its region if it earned a box."""
    total, whole, split, negated = 0.0, 0.0, False, False
    for link in group_links:
        total += link.similarity
        negated = negated or link.negated
        if link.whole is not None:
            whole, split = whole + link.whole, True
    return Phrase(
        group.span,
        total,
        whole if split else None,
        region if total < 0 or not negated else None,  # of what is not there, none
        negated,
        group.pairs,
    )


def earns_box(image: FragmentBag, region: int, similarity: Sequence[float]) -> bool:
    """Return whether a region adds a clear share to the whole photo; similarity is (R,).

    Every region does where no fragment stands for the whole photo, but for the frame itself.
    """
    if not has_whole(image):
        return image.places[region] != WHOLE_FRAME
    best, whole = similarity[region], similarity[0]
    return region != 0 and best - whole >= EARNED * abs(best)
