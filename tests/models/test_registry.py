import dataclasses

import pytest

from models import registry
from models.matcher import Config, TwoTowerMatcher


@pytest.mark.parametrize("kind", registry.KINDS)
def test_every_model_exports_a_frozen_config_and_a_model(kind):
    for name in registry.names(kind):
        module = registry.find(kind, name)
        assert dataclasses.is_dataclass(module.Config)
        assert module.Config.__dataclass_params__.frozen
        assert isinstance(module.Model, type)


def test_a_matcher_is_built_by_one_class_whatever_its_name():
    assert registry.find("matchers", "tessera").Model is TwoTowerMatcher
    assert registry.find("matchers", "mine").Config is Config


def test_an_unknown_model_is_refused_with_the_ones_there_are():
    with pytest.raises(LookupError, match=r"no model 'nope' among text_towers; there are: .*brnn"):
        registry.find("text_towers", "nope")


@pytest.mark.parametrize("name", ["__init__", "../registry", "brnn.Config", ""])
def test_only_modules_of_the_folder_are_models(name):
    with pytest.raises(LookupError):
        registry.find("text_towers", name)


def test_an_unknown_kind_is_refused_with_the_ones_there_are():
    with pytest.raises(LookupError, match="there are: image_towers, text_towers"):
        registry.find("poets", "brnn")
