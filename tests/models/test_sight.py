import pytest
import torch

from models.sight import RegionSight


def test_each_photo_has_features_of_each_box_at_each_size(photos):
    with torch.inference_mode():
        inputs, boxes = RegionSight("lite0", (32, 64), "windows", tuned=False)(photos)
    assert [one.shape for one in inputs] == [(20, 2 * 1280)] * 3
    assert [one.shape for one in boxes] == [(20, 4)] * 3
    assert boxes[0][0].tolist() == [0, 0, 1, 1]


def test_a_key_names_cnn_sizes_and_boxes():
    sight = RegionSight("lite0", [32, 64], "frame", tuned=False)
    assert sight.key() == '["lite0", [32, 64], [[0.0, 0.0, 1.0, 1.0]]]'


@pytest.mark.parametrize("tuned", [False, True])
def test_a_cnn_stays_in_evaluation_mode_and_trains_only_where_it_is_tuned(tuned):
    sight = RegionSight("lite0", (32,), "windows", tuned).train()
    assert not any(module.training for module in sight.modules())
    assert {weight.requires_grad for weight in sight.parameters()} == {tuned}
    assert sight.packaged == (() if tuned else ("features.",))


def test_learned_proposals_do_not_go_with_a_tuned_cnn():
    with pytest.raises(ValueError, match="use proposals = 'windows'"):
        RegionSight("lite0", (224, 448), "learned", tuned=True)
