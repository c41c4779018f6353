import pytest

from training.captioners import preset as captioner_presets
from training.captioners import train as captioning
from training.data.corpus import Corpus
from training.runs.folder import RunPlace


def test_a_preset_gives_the_recipe_and_an_unknown_option_is_named(tmp_path):
    shipped = captioner_presets.read("attentive-cider")
    assert (shipped.model, shipped.least_count) == ("attentive", 10)
    assert shipped.reward.samples == 5
    own = tmp_path / "own.toml"
    own.write_text('extends = "captioners/attentive"\n[model]\nhiden = 3\n')
    with pytest.raises(ValueError, match=r"hiden.*hidden"):
        captioner_presets.read(str(own))
    own.write_text('extends = "captioners/attentive"\n[text]\nalone = 0\n')
    with pytest.raises(ValueError, match="0 sentences alone"):
        captioner_presets.read(str(own))
    with pytest.raises(LookupError, match="no preset"):
        captioner_presets.read("nope")


@pytest.mark.parametrize("option", ["image", "joint"])
def test_what_a_captioner_takes_from_its_matcher_is_no_option(tmp_path, option):
    own = tmp_path / "own.toml"
    own.write_text(f'extends = "captioners/attentive"\n[model]\n{option} = 3\n')
    with pytest.raises(ValueError, match="does not know"):
        captioner_presets.read(str(own))


def test_the_preset_of_another_part_is_refused(tmp_path):
    other = tmp_path / "weak.toml"
    other.write_text('extends = "grounders/weak"\n')
    with pytest.raises(ValueError, match=r"weak\.toml: \[model\] needs a name, one of attentive"):
        captioner_presets.read(str(other))


@pytest.mark.parametrize("name", ["attentive-more", "attentive-cider"])
def test_presets_that_go_on_need_a_trained_captioner(name, tmp_path):
    preset, place = captioner_presets.read(name), RunPlace(tmp_path / "x.safetensors", tmp_path)
    with pytest.raises(ValueError, match="goes on with a trained captioner: give one by --start"):
        captioning.train(Corpus("none", {}), place, preset)
