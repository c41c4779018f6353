from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
import torch

from models.scores.alignment import (
    EARNED,
    decode_chain,
    phrases,
    query_links,
    region_links,
)
from models.scores.scoring import SCORES
from models.scores.word_groups import Group, WordGroups, word_groups
from models.text.queries import Query
from models.types import (
    WHOLE_FRAME,
    WHOLE_PHOTO,
    WHOLE_SENTENCE,
    Box,
    FragmentBag,
    Link,
    PaddedBags,
    Span,
)


def links(image, sentence, score="sum_of_max"):
    """The links of a pair."""
    return SCORES[score].links(image, sentence)


def random_pair(seed, R=4, words=("a", "brown", "dog", "runs")):
    generator = torch.Generator().manual_seed(seed)
    image = FragmentBag(
        torch.randn(R, 3, generator=generator), (WHOLE_FRAME,) * R, tuple(map(str, range(R)))
    )
    starts = [sum(len(w) + 1 for w in words[:t]) for t in range(len(words))]
    spans = tuple(Span(at, at + len(w)) for at, w in zip(starts, words, strict=True))
    return image, FragmentBag(torch.randn(len(words), 3, generator=generator), spans, words)


def spoken(text, *vectors):
    """The bag of a text's words, of random vectors or of these."""
    words = tuple(text.split())
    starts = [len(" ".join(words[:t])) + (t > 0) for t in range(len(words))]
    spans = tuple(Span(at, at + len(w)) for at, w in zip(starts, words, strict=True))
    random = torch.randn(len(words), 3, generator=torch.Generator().manual_seed(0))
    return FragmentBag(torch.tensor(vectors) if vectors else random, spans, words)


def photo(*vectors):
    """A photo's bag with the whole as first fragment."""
    boxes = (WHOLE_FRAME, *(Box(0, 0, 1 / i, 1) for i in range(2, len(vectors) + 1)))
    labels = (WHOLE_PHOTO, *(f"region {i}" for i in range(1, len(vectors))))
    return FragmentBag(torch.tensor(vectors), boxes, labels)


def energy(similarity, regions, beta):
    same = sum(one == after for one, after in pairwise(regions))
    return sum(float(row[i]) for row, i in zip(similarity, regions, strict=True)) + beta * same


@pytest.mark.parametrize("seed", range(3))
def test_links_add_up_to_the_score(seed):
    image, sentence = random_pair(seed)
    score = SCORES["sum_of_max"](PaddedBags.of([image.vectors]), PaddedBags.of([sentence.vectors]))
    found = links(image, sentence)
    assert [link.fragment for link in found] == [0, 1, 2, 3]
    assert sum(link.similarity for link in found) == pytest.approx(float(score), abs=1e-5)
    for link in found:
        pair = image.vectors[link.region] @ sentence.vectors[link.fragment]
        assert link.similarity == pytest.approx(float(pair), abs=1e-6)


@pytest.mark.parametrize("score", SCORES)
def test_links_of_every_score_add_up_to_it(score):
    image, sentence = random_pair(7)
    pair = PaddedBags.of([image.vectors]), PaddedBags.of([sentence.vectors])
    total = sum(link.similarity for link in links(image, sentence, score))
    assert total == pytest.approx(float(SCORES[score](*pair)), abs=1e-5)


def test_a_weak_word_joins_its_neighbours_when_staying_pays():
    similarity = torch.tensor([[2.0, 0.0], [0.0, 0.5], [2.0, 0.0]])
    assert decode_chain(similarity, 0.2) == [0, 1, 0]  # 4.5 against 4 + 2 · 0.2
    assert decode_chain(similarity, 0.3) == [0, 0, 0]  # 4.5 against 4 + 2 · 0.3


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_chain_is_the_best_of_all_alignments(beta, seed):
    T, R = 5, 3
    similarity = torch.randn(T, R, generator=torch.Generator().manual_seed(seed))
    best = max(product(range(R), repeat=T), key=lambda a: energy(similarity, a, beta))
    assert decode_chain(similarity, beta) == list(best)


def test_without_beta_every_word_takes_its_best_region():
    similarity = torch.randn(20, 7, generator=torch.Generator().manual_seed(0))
    assert decode_chain(similarity, 0.0) == similarity.argmax(dim=1).tolist()


def test_a_large_beta_gives_the_sentence_its_best_single_region():
    similarity = torch.randn(20, 7, generator=torch.Generator().manual_seed(0))
    assert decode_chain(similarity, 1e3) == [int(similarity.sum(0).argmax())] * 20


def test_one_word_needs_no_chain():
    assert decode_chain(torch.tensor([[1.0, 3.0, 2.0]]), 1.0) == [1]


@pytest.mark.parametrize("beta", [-0.1, float("nan")])
def test_a_beta_that_would_punish_staying_is_refused(beta):
    with pytest.raises(ValueError, match="beta is"):
        decode_chain(torch.zeros(2, 2), beta)


def test_a_link_says_what_the_whole_photo_gave_and_what_its_region_added():
    image = photo([2.0, 0.0], [3.0, -1.0], [0.0, 0.5])
    found = links(image, spoken("red dog on", [1.0, 0.0], [0.0, 2.0], [-1.0, 0.0]))
    assert found == (Link(0, 1, 3.0, 2.0), Link(1, 2, 1.0, 0.0), Link(2, 2, 0.0, -2.0))
    assert [link.added for link in found] == [1.0, 1.0, 2.0]


def test_equal_fragments_leave_the_link_with_the_whole_photo():
    (found,) = links(photo([2.0], [2.0]), spoken("red", [1.0]))
    assert (found.region, found.whole, found.added) == (0, 2.0, 0.0)


def test_no_share_is_the_whole_photos_where_no_fragment_stands_for_it():
    image, sentence = random_pair(1)
    assert {link.whole for link in links(image, sentence)} == {None}
    whole = photo([1.0, 0.0], [0.5, 2.0])
    found = links(whole, spoken("dog", [1.0, 1.0]), "mean_of_positive")
    assert [(link.region, link.whole, link.added) for link in found] == [
        (0, None, None),
        (1, None, None),
    ]


@pytest.mark.parametrize("score", SCORES)
def test_links_of_weighted_parts_add_up_to_the_weighted_sum_of_their_scores(score):
    image = photo([1.0, 0.5], [0.2, 2.0])
    dog, snow = spoken("a dog", [0.3, 0.1], [1.0, 2.0]), spoken("snow", [2.0, -1.0])
    query = Query((dog, snow), (2.0, 0.5))
    found = query_links(image, query, score)
    own = [sum(link.similarity for link in links(image, part, score)) for part in (dog, snow)]
    assert sum(link.similarity for link in found) == pytest.approx(2 * own[0] + 0.5 * own[1])
    assert {query.bag.labels[link.fragment] for link in found} == {"a", "dog", "snow"}
    told = phrases(image, query, found)
    assert [phrase.similarity for phrase in told] == pytest.approx([2 * own[0], 0.5 * own[1]])


def test_what_is_negated_counts_where_it_is_and_never_in_favour():
    image = photo([1.0, -1.0], [3.0, -2.0])
    beach, people = (
        spoken("a beach", [1.0, 0.0], [0.5, 0.0]),
        spoken("tall people", [0.0, 1.0], [2.0, 0.0]),
    )
    query = Query((beach, people), (1.0, -0.5))
    found = query_links(image, query)
    assert found[2:] == (
        Link(2, 0, 0.0, 0.0, negated=True),
        Link(3, 1, -3.0, -1.0, negated=True),
    )
    assert sum(link.similarity for link in found) == pytest.approx(1.5)
    told = phrases(image, query, found)
    assert [(one.similarity, one.region, one.negated) for one in told] == [
        (pytest.approx(4.5), 1, False),
        (0.0, None, True),
        (-3.0, 1, True),
    ]


def test_where_all_is_negated_what_is_not_there_counts_in_favour():
    image = photo([1.0, -1.0], [3.0, -2.0])
    query = Query((spoken("tall people", [0.0, 1.0], [2.0, 0.0]),), (-0.5,))
    found = query_links(image, query)
    assert found == (Link(0, 0, 0.5, 0.5, negated=True), Link(1, 1, -3.0, -1.0, negated=True))
    told = phrases(image, query, found)
    assert [(one.similarity, one.region) for one in told] == [(0.5, None), (-3.0, 1)]


def test_a_phrase_of_relations_names_both_words_of_each():
    image, text = photo([1.0, 0.0], [0.0, 2.0]), "black dog runs"
    words = spoken(text, [1.0, 0.0], [0.0, 1.0], [0.0, 1.0])
    labels = ("black → dog", "dog → runs", "runs")
    query = Query.of(FragmentBag(words.vectors, words.places, labels))
    found = query_links(image, query, "mean_of_positive")
    apart, joined = phrases(image, query, found), phrases(image, query, found, beta=0.1)
    assert [phrase.words(text) for phrase in apart] == ["black → dog", "dog → runs", "runs"]
    assert [phrase.words(text) for phrase in joined] == ["black → dog", "dog → runs, runs"]


def test_links_of_a_region_add_up_to_its_score():
    image = photo([1.0, 1.0], [3.0, -1.0], [0.0, 9.0])
    query = Query((spoken("a dog", [1.0, 0.0], [1.0, 1.0]),), (2.0,), "a dog")
    found = region_links(image, query, 1)
    assert [(link.region, link.similarity, link.whole) for link in found] == [
        (1, 6.0, 2.0),
        (1, 4.0, 4.0),
    ]


def grouped(text):
    bag = spoken(text)
    return [" ".join(bag.labels[i] for i in group.fragments) for group in word_groups(bag)]


def test_content_words_take_their_function_words_with_them():
    assert grouped("A black dog is jumping over the log") == [
        "A black",
        "dog",
        "is jumping",
        "over the log",
    ]
    assert grouped("the dog 's ball") == ["the dog 's", "ball"]
    assert grouped("a boy throws it to them") == ["a boy", "throws it to them"]


def test_a_text_of_function_words_alone_is_one_phrase():
    assert grouped("it is on there") == ["it is on there"]
    (found,) = phrases(photo([1.0], [0.5]), Query.of(spoken("on it", [2.0], [1.0])), ())
    assert found.span == Span(0, 5)


@pytest.mark.parametrize("beta", [None, 0.0, 0.5, 100.0])
@pytest.mark.parametrize("score", SCORES)
def test_phrases_tile_the_sentence_and_add_up_to_the_score(beta, score):
    image, sentence = random_pair(4, words=("a", "brown", "dog", "on", "it"))
    found = links(image, sentence, score)
    told = phrases(image, Query.of(sentence), found, beta)
    assert told[0].span.start == 0
    assert told[-1].span.end == sentence.places[-1].end
    for phrase, after in pairwise(told):
        assert phrase.span.end + 1 == after.span.start
    total = sum(link.similarity for link in found)
    assert sum(phrase.similarity for phrase in told) == pytest.approx(total, abs=1e-5)


def test_a_phrase_says_what_the_whole_photo_gave_to_its_words():
    image = photo([2.0, 0.0], [3.0, 5.0])
    sentence = spoken("the dog runs", [0.1, 0.0], [1.0, 0.0], [0.0, 1.0])
    dog, runs = phrases(image, Query.of(sentence), links(image, sentence))
    assert (dog.similarity, dog.whole) == pytest.approx((3.3, 2.2))
    assert (runs.similarity, runs.whole, runs.added) == pytest.approx((5.0, 0.0, 5.0))


def test_a_region_earns_a_box_by_what_it_adds_for_the_content_word():
    enough, short = 1 / (1 - EARNED) + 0.01, 1 / (1 - EARNED) - 0.01
    image = photo([1.0, 1.0, 0.0], [enough, 0.0, 0.0], [0.0, short, 0.0], [0.0, 0.0, 9.0])
    sentence = spoken("the dog runs", [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    dog, runs = phrases(image, Query.of(sentence), links(image, sentence))
    assert (dog.region, runs.region) == (1, None)


def test_a_region_gets_its_box_where_no_fragment_stands_for_the_whole_photo():
    framed, sentence = random_pair(4, words=("dog",))
    image = replace(framed, places=(Box(0, 0, 0.5, 1),) * len(framed))
    (found,) = phrases(image, Query.of(sentence), links(image, sentence))
    assert found.region == links(image, sentence)[0].region
    (found,) = phrases(framed, Query.of(sentence), links(framed, sentence))
    assert found.region is None  # the frame itself


def test_chain_decoding_joins_phrases_that_share_a_region():
    image = photo([0.0, 0.0], [2.0, 0.9], [0.0, 1.0])
    sentence = spoken("a dog on snow", [0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0])
    found = links(image, sentence)
    apart, long = (phrases(image, Query.of(sentence), found, beta) for beta in (0.05, 0.2))
    assert [(one.span, one.region) for one in apart] == [(Span(0, 5), 1), (Span(6, 13), 2)]
    assert [(one.span, one.region) for one in long] == [(Span(0, 13), 1)]
    assert long[0].similarity == pytest.approx(3.0)


def test_the_whole_sentence_is_a_phrase_of_its_own():
    image, sentence = random_pair(4, words=(WHOLE_SENTENCE, "a", "dog"))
    told = phrases(image, Query.of(sentence), links(image, sentence), 100.0)
    assert [phrase.span for phrase in told] == [
        Span(sentence.places[1].start, sentence.places[2].end),
        sentence.places[0],
    ]


def test_content_words_of_a_phrase_are_summed_in_each_region():
    similarity = np.arange(12, dtype=np.float32).reshape(4, 3)
    heads = ((0, 1), (1,)), ((2, 3), (2, 3)), ((0,), (0,))
    groups = WordGroups(Group(fragments, chosen, (), ()) for fragments, chosen in heads)
    expected = [similarity[1], similarity[2] + similarity[3], similarity[0]]
    assert groups.sum_heads(similarity).tolist() == np.stack(expected).tolist()
