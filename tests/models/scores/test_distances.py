"""Squared distances are products of lengthened vectors."""

import torch

from models.scores.distances import LENGTHENED, lengthen_images, lengthen_sentences
from models.scores.scoring import SCORES
from models.types import PaddedBags


def bag(*vectors):
    return PaddedBags(torch.tensor(vectors)[None], torch.ones(1, len(vectors), dtype=torch.bool))


def test_products_of_lengthened_vectors_are_negative_squared_distances():
    images, sentences = bag([1.0, 2.0], [0.0, -1.0]), bag([3.0, 2.0], [1.0, 1.0])
    v, s = lengthen_images(images), lengthen_sentences(sentences)
    assert v.vectors.shape == s.vectors.shape == (1, 2, 2 + LENGTHENED)
    assert (s.vectors[0] @ v.vectors[0].T).tolist() == [[-4.0, -18.0], [-1.0, -5.0]]
    assert SCORES["sum_of_max"](v, s).tolist() == [[-5.0]]
