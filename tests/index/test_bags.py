"""Bags as bytes: vectors in half precision if possible, and their details."""

import pytest
import torch

from index.bags import (
    HALF,
    IMAGE,
    SINGLE,
    pack_details,
    pack_vectors,
    unpack_bag,
    unpack_together,
    unpack_vectors,
)


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


def test_bags_that_are_unpacked_together_are_as_each_alone(sentence_bag):
    bags = [sentence_bag(size) for size in (3, 1, 5)]
    for large in (1.0, 1e6):  # in single precision, the second one
        bags[1].vectors[0, 0] = large
        packed = [pack_vectors(bag) for bag in bags]
        together = unpack_together(packed, 8)
        assert [one.tolist() for one in together] == [
            unpack_vectors(data, 8).tolist() for data in packed
        ]
    assert unpack_together([], 8) == []


def test_bags_of_which_one_is_cut_off_do_not_take_numbers_of_the_next(sentence_bag):
    first, second = (pack_vectors(sentence_bag(2)) for _ in range(2))
    with pytest.raises(ValueError, match="reshape"):
        unpack_together([first[:-4], second + second[1:13]], 8)


def test_label_may_hold_a_zero_character(sentence_bag):
    bag = sentence_bag(1)
    odd = type(bag)(bag.vectors, bag.places, ("a\0b",))
    assert there_and_back(odd, 0).labels == ("a\0b",)
