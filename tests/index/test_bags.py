"""Bags as bytes: half precision where that holds them, and all that is read beside them."""

import pytest
import torch

from index.bags import HALF, IMAGE, SINGLE, pack_details, pack_vectors, unpack_bag, unpack_vectors


def there_and_back(bag, position):
    packed = pack_vectors(bag)
    return unpack_bag(unpack_vectors(packed, bag.vectors.shape[1]), pack_details(bag), position)


def test_image_bag_comes_back_in_half_precision(image_bag):
    bag = image_bag(4)
    back = there_and_back(bag, IMAGE)
    assert torch.equal(back.vectors, bag.vectors.half().float())
    assert back.labels == bag.labels
    assert [box.right for box in back.places] == pytest.approx([box.right for box in bag.places])
    assert len(pack_vectors(bag)) == 1 + 2 * bag.vectors.numel()


def test_sentence_bag_comes_back_in_half_precision(sentence_bag):
    bag = sentence_bag(3)
    back = there_and_back(bag, 0)
    assert torch.equal(back.vectors, bag.vectors.half().float())
    assert (back.places, back.labels) == (bag.places, bag.labels)


def test_bag_that_half_precision_cannot_hold_is_kept_in_single(sentence_bag):
    bag = sentence_bag(3)
    assert pack_vectors(bag)[:1] == HALF
    bag.vectors[1, 2] = 1e6
    assert pack_vectors(bag)[:1] == SINGLE
    assert torch.equal(there_and_back(bag, 0).vectors, bag.vectors)


def test_label_may_hold_a_zero_character(sentence_bag):
    bag = sentence_bag(1)
    odd = type(bag)(bag.vectors, bag.places, ("a\0b",))
    assert there_and_back(odd, 0).labels == ("a\0b",)
