import pytest

from training.captioners import recipe as caption_recipe


def test_a_preset_gives_the_recipe_and_an_unknown_option_is_named(tmp_path):
    shipped = caption_recipe.read("attentive-cider")
    assert (shipped.model, shipped.least_count) == ("attentive", 10)
    assert shipped.reward.samples == 5
    own = tmp_path / "own.toml"
    own.write_text('extends = "captioners/attentive"\n[model]\nhiden = 3\n')
    with pytest.raises(ValueError, match=r"hiden.*hidden"):
        caption_recipe.read(str(own))
    own.write_text('extends = "captioners/attentive"\n[text]\nalone = 0\n')
    with pytest.raises(ValueError, match="0 sentences alone"):
        caption_recipe.read(str(own))
    with pytest.raises(LookupError, match="no preset"):
        caption_recipe.read("nope")


@pytest.mark.parametrize("option", ["image", "joint"])
def test_what_a_captioner_takes_from_its_matcher_is_no_option(tmp_path, option):
    own = tmp_path / "own.toml"
    own.write_text(f'extends = "captioners/attentive"\n[model]\n{option} = 3\n')
    with pytest.raises(ValueError, match="does not know"):
        caption_recipe.read(str(own))
