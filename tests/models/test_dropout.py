import torch

from models.dropout import BagDropout


def test_a_number_is_dropped_in_all_fragments_of_a_bag_or_in_none():
    torch.manual_seed(0)
    bags = torch.rand(4, 5, 200) + 0.5
    dropped = BagDropout(0.25)(bags)
    kept = dropped != 0
    assert (kept == kept[:, :1]).all()
    assert not (kept[:1] == kept).all()  # each bag draws for itself
    assert 0.7 < kept.float().mean() < 0.8
    torch.testing.assert_close(dropped[kept], bags[kept] / 0.75)


def test_nothing_is_dropped_in_evaluation():
    bags = torch.rand(2, 3, 4)
    assert BagDropout(0.9).eval()(bags) is bags
    assert BagDropout(0.0)(bags) is bags
