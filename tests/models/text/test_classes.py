import pytest
import torch

from models.text import classes
from models.vision.backbones import CLASSES


def test_every_class_has_names_and_broader_terms():
    names = classes.names()
    assert len(names) == CLASSES
    assert all(level and all(level) for levels in names for level in levels)
    assert names[281][0][0] == "tabby"
    assert any("feline" in level for level in names[281])
    assert names[339] == [["sorrel"], ["horse", "Equus caballus"], *names[339][2:]]


def test_a_class_vector_is_its_names_mean_and_less_of_each_broader_term():
    vector = {"a": torch.tensor([1.0, 0]), "b": torch.tensor([0, 1.0]), "c": torch.tensor([0, 1.0])}
    found = classes.class_vector([["a"], ["b"], ["c"]], vector)
    broader = classes.BROADER * (1 + classes.DISTANCE)
    expected = torch.tensor([1.0, broader])
    torch.testing.assert_close(found, expected / expected.norm())


def test_a_word_lies_nearest_to_a_class_that_it_names():
    vectors = classes.vectors()
    assert vectors.shape == (CLASSES, 384)
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(CLASSES))
    words = classes.sentence_vectors(["lemon", "rocket", "coffee mug"]) @ vectors.T
    best = [classes.names()[place] for place in words.argmax(1).tolist()]
    assert [levels[0][0] for levels in best] == ["lemon", "missile", "coffee mug"]


def test_directions_are_orthonormal_and_leave_out_what_all_names_share():
    directions = classes.directions(32)
    torch.testing.assert_close(directions.T @ directions, torch.eye(32), rtol=1e-4, atol=1e-4)
    common = torch.stack([*classes.name_vectors().values()]).mean(0)
    assert (common @ directions).abs().max() < 1e-4


def test_there_are_no_more_directions_than_numbers_of_a_name():
    with pytest.raises(ValueError, match="there are 384"):
        classes.directions(385)
