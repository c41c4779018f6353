import pytest
import torch

from models.text_towers.composed import Config, Model
from training.evaluation.inside import Composition, compositions


def test_the_relation_of_the_largest_matrix_comes_first():
    tower = Model(Config(relations=("nsubj", "det"), embedding=2))
    with torch.no_grad():
        tower.compose.compose.copy_(
            torch.tensor([[[1.0, 0], [0, 0]], [[3.0, 0], [0, 4]], [[0.0, 2], [0, 0]]])
        )
    assert compositions(tower) == [
        Composition("nsubj", 5.0), Composition("det", 2.0), Composition("others", 1.0)
    ]  # fmt: skip


def test_positions_are_counted_from_the_head():
    tower = Model(Config(composition="position", reach=2, embedding=2))
    kinds = {one.kind for one in compositions(tower)}
    assert kinds == {"others", "left 1", "left 2", "right 1", "right 2"}


def test_a_tower_without_such_matrices_is_refused():
    with pytest.raises(ValueError, match="give an SDT-RNN or DT-RNN"):
        compositions(Model(Config(composition="sequence", embedding=2)))
