from dataclasses import replace

import pytest
import torch

from models.captioners.attentive import Config, Model
from training.captioners.build import change_tower

TOWER = {"views": ("lite0@32",), "embedding": 8}
IMAGE = {"name": "regions_in_context", "options": TOWER}


def test_a_captioner_goes_on_with_a_tower_of_other_names():
    torch.manual_seed(0)
    sizes = {"joint": 8, "embedding": 8, "hidden": 8, "attention": 4}
    captioner = Model(Config(("a", "dog"), IMAGE, **sizes))
    other = replace(captioner.config.image.options, classifiers=("lite0@32",), names=1.0, conse=4)
    image = replace(captioner.config.image, options=other)
    moved = change_tower(captioner, image)
    assert moved.config.image == image
    for name, weight in captioner.language.lstm.state_dict().items():
        assert torch.equal(weight, moved.language.lstm.state_dict()[name])
    assert torch.equal(moved.language.words.weight, captioner.language.words.weight)
    small = replace(image, options=replace(other, embedding=6))
    with pytest.raises(ValueError, match="6 numbers and the captioner's 8"):
        change_tower(captioner, small)
