from itertools import pairwise, product

import pytest
import torch

from models.alignment import decode_chain, decode_phrases, links
from models.scoring import SCORES, sum_of_max
from models.types import WHOLE_FRAME, WHOLE_SENTENCE, FragmentBag, PaddedBags, Span


def random_pair(seed, R=4, words=("a", "brown", "dog", "runs")):
    generator = torch.Generator().manual_seed(seed)
    image = FragmentBag(
        torch.randn(R, 3, generator=generator), (WHOLE_FRAME,) * R, tuple(map(str, range(R)))
    )
    starts = [sum(len(w) + 1 for w in words[:t]) for t in range(len(words))]
    spans = tuple(Span(at, at + len(w)) for at, w in zip(starts, words, strict=True))
    return image, FragmentBag(torch.randn(len(words), 3, generator=generator), spans, words)


def energy(similarity, regions, beta):
    same = sum(one == after for one, after in pairwise(regions))
    return sum(float(row[i]) for row, i in zip(similarity, regions, strict=True)) + beta * same


@pytest.mark.parametrize("seed", range(3))
def test_links_add_up_to_the_score(seed):
    image, sentence = random_pair(seed)
    score = sum_of_max(PaddedBags.of([image.vectors]), PaddedBags.of([sentence.vectors]))
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


@pytest.mark.parametrize("beta", [0.0, 0.5, 100.0])
def test_phrases_tile_the_sentence_and_add_up_to_its_words(beta):
    image, sentence = random_pair(4)
    phrases = decode_phrases(image, sentence, beta)
    similarity = sentence.vectors @ image.vectors.T
    regions = decode_chain(similarity, beta)
    assert phrases[0].span.start == 0
    assert phrases[-1].span.end == sentence.places[-1].end
    for one, after in pairwise(phrases):
        assert one.region != after.region
        assert one.span.end + 1 == after.span.start
    assert sum(p.similarity for p in phrases) == pytest.approx(
        energy(similarity, regions, 0.0), abs=1e-5
    )


def test_the_whole_sentence_is_in_no_phrase_unless_it_is_alone():
    image, sentence = random_pair(4, words=("dog", WHOLE_SENTENCE))
    (phrase,) = decode_phrases(image, sentence, 1.0)
    assert phrase.span == sentence.places[0]
    alone = FragmentBag(sentence.vectors[1:], sentence.places[1:], sentence.labels[1:])
    (phrase,) = decode_phrases(image, alone, 1.0)
    assert phrase.span == sentence.places[1]
