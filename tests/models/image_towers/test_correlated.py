import pytest
import torch

from models.image_towers.correlated import Config, Model


def test_a_photo_is_what_its_view_makes_of_its_frame(photos, embed):
    torch.manual_seed(0)
    tower = Model(Config(sizes=(64,), embedding=4)).eval()
    with torch.inference_mode():
        inputs = tower.sight(photos)[0]
    tower.prepare(inputs)
    expected = tower.view(tower.features(inputs)).detach()
    torch.testing.assert_close(embed(tower, photos)[:, 0], expected)


def test_an_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match="linear, rbf"):
        Model(Config(kernel="cubic", sizes=(64,)))
