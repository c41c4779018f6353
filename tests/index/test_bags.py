import pytest
import torch

from index.bags import IMAGE, pack_details, pack_vectors, unpack_bag, unpack_vectors


def test_image_bag_comes_back_as_it_was(image_bag):
    bag = image_bag(5)
    back = unpack_bag(unpack_vectors(pack_vectors(bag), 8), pack_details(bag), IMAGE)
    assert torch.equal(back.vectors, bag.vectors)
    assert back.labels == bag.labels
    for box, original in zip(back.places, bag.places, strict=True):
        assert box.right == pytest.approx(original.right, abs=1e-7)
        assert (box.left, box.top, box.bottom) == (0.0, 0.0, 1.0)


def test_sentence_bag_comes_back_as_it_was(sentence_bag):
    bag = sentence_bag(3)
    back = unpack_bag(unpack_vectors(pack_vectors(bag), 8), pack_details(bag), 0)
    assert torch.equal(back.vectors, bag.vectors)
    assert (back.places, back.labels) == (bag.places, bag.labels)


def test_label_may_hold_a_zero_character(sentence_bag):
    bag = sentence_bag(1)
    odd = type(bag)(bag.vectors, bag.places, ("a\0b",))
    assert unpack_bag(unpack_vectors(pack_vectors(odd), 8), pack_details(odd), 0).labels == (
        "a\0b",
    )
