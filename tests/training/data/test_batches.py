from collections import Counter

import pytest

from training.data.batches import batches, steps

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
        assert steps(COUNTS, 3) == len(list(batches(COUNTS, 3, 0, epoch)))


def test_an_image_can_bring_several_sentences():
    seen = Counter()
    for batch in batches([5, 4, 3, 5], 2, seed=0, epoch=0, sentences=2):
        assert len(set(batch.images)) == len(batch.images) > 1
        starts = (0, 5, 9, 12)
        for sentence, owner in zip(batch.sentences, batch.owners, strict=True):
            assert 0 <= sentence - starts[batch.images[owner]] < 5
        seen.update(batch.sentences)
    assert max(seen.values()) == 1
    assert steps([5, 4, 3, 5], 2, sentences=2) == 5
