import dataclasses

import pytest

from models import registry, scoring


@pytest.mark.parametrize("kind", registry.KINDS)
def test_every_model_exports_a_frozen_config_and_a_model(kind):
    for name in registry.names(kind):
        module = registry.find(kind, name)
        assert dataclasses.is_dataclass(module.Config)
        assert module.Config.__dataclass_params__.frozen
        assert isinstance(module.Model, type)


def test_every_matcher_is_scored_by_a_known_function():
    for name in registry.names("matchers"):
        assert registry.find("matchers", name).Model.score in scoring.SCORES


def test_an_unknown_model_is_refused_with_the_ones_there_are():
    with pytest.raises(LookupError, match=r"no model 'nope' among matchers; there are: .*dvsa"):
        registry.find("matchers", "nope")


@pytest.mark.parametrize("name", ["__init__", "../registry", "dvsa.Config", ""])
def test_only_modules_of_the_folder_are_models(name):
    with pytest.raises(LookupError):
        registry.find("matchers", name)


def test_an_unknown_kind_is_refused_with_the_ones_there_are():
    with pytest.raises(LookupError, match="there are: matchers, captioners"):
        registry.find("poets", "dvsa")
