import torch

from models.image_towers.branch import Config, Model


def test_a_photo_is_one_vector_of_length_one(photos, embed):
    torch.manual_seed(0)
    tower = Model(Config(sizes=(32,), hidden=5, embedding=6)).eval()
    torch.testing.assert_close(embed(tower, photos).norm(dim=-1), torch.ones(3, 1))


def test_a_linear_branch_is_one_map():
    tower = Model(Config(sizes=(32,), hidden=0, embedding=6))
    assert [name for name, one in tower.named_parameters() if one.requires_grad] == [
        f"branch.layers.1.{kind}" for kind in ("weight", "bias")
    ]
