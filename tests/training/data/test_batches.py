from collections import Counter

import pytest

from training.data.batches import Sampling, batches, count_batches

COUNTS = [5, 3, 1, 5, 4, 5, 2]


def test_no_batch_has_two_sentences_of_one_image():
    for epoch in range(20):
        for batch in batches(COUNTS, 4, seed=0, epoch=epoch):
            assert len(set(batch.images)) == len(batch.images) > 1


def test_every_sentence_is_learned_once_with_its_own_image():
    counts = [3] * 8
    seen = Counter()
    for batch in batches(counts, 4, seed=0, epoch=0):
        for image, sentence in zip(batch.images, batch.sentences, strict=True):
            assert sentence // 3 == image
            seen[sentence] += 1
    assert seen == Counter(range(24))


def test_images_with_fewer_sentences_sit_out_later_rounds():
    seen = {one for batch in batches(COUNTS, 7, 0, 0) for one in batch.sentences}
    assert seen == set(range(sum(COUNTS)))


@pytest.mark.parametrize(("seed", "epoch"), [(1, 0), (0, 1)])
def test_the_order_depends_on_seed_and_epoch_alone(seed, epoch):
    first = list(batches(COUNTS, 4, 0, 0))
    assert first == list(batches(COUNTS, 4, 0, 0))
    assert first != list(batches(COUNTS, 4, seed, epoch))


def test_steps_counts_the_batches_of_an_epoch():
    for epoch in range(5):
        assert count_batches(COUNTS, 3) == len(list(batches(COUNTS, 3, 0, epoch)))


def test_an_image_can_bring_several_sentences():
    seen = Counter()
    for batch in batches([5, 4, 3, 5], 2, seed=0, epoch=0, sentences=2):
        assert len(set(batch.images)) == len(batch.images) > 1
        starts = (0, 5, 9, 12)
        for sentence, owner in zip(batch.sentences, batch.owners, strict=True):
            assert 0 <= sentence - starts[batch.images[owner]] < 5
        seen.update(batch.sentences)
    assert max(seen.values()) == 1
    assert count_batches([5, 4, 3, 5], 2, sentences=2) == 5


def test_rounds_take_some_sentences_of_each_image():
    some = list(batches([5] * 8, 4, 0, 0, sampling=Sampling(rounds=2)))
    assert Counter(one for batch in some for one in batch.images) == Counter([*range(8)] * 2)
    assert len(some) == count_batches([5] * 8, 4, sampling=Sampling(rounds=2)) == 4


def test_images_of_a_kind_stand_together_in_a_batch():
    kinds = ["shirt", "shoe"] * 16
    for batch in batches([1] * 32, 8, 0, 0, sampling=Sampling(alike=4), kinds=kinds):
        own = [kinds[image] for image in batch.images]
        assert own[0] == own[1] == own[2] == own[3]
        assert own[4] == own[5] == own[6] == own[7]
    order = [image for batch in batches([1] * 32, 8, 0, 0, 1, Sampling(0, 4), kinds)
             for image in batch.images]  # fmt: skip
    assert sorted(order) == list(range(32))


def test_a_sampling_of_nothing_is_refused():
    with pytest.raises(ValueError, match="0 rounds, 0 alike"):
        Sampling(alike=0)


def test_an_image_with_fewer_sentences_than_rounds_brings_them_again():
    some = list(batches([1, 5, 2], 3, 0, 0, sampling=Sampling(rounds=4)))
    seen = Counter(one for batch in some for one in batch.sentences)
    assert (seen[0], seen[6], seen[7]) == (4, 2, 2)
    assert len(some) == 4
