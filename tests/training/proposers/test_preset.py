import pytest

from training.proposers import preset as proposer_presets


def test_the_preset_that_ships_gives_its_recipe():
    preset = proposer_presets.read("detector")
    assert preset.config == {}
    assert (preset.optimizer.learning_rate, preset.schedule.average) == (1.5e-3, 0.99)


@pytest.mark.parametrize(
    ("table", "wrong"),
    [("model", r"own\.toml: \[model\] does not know \['depth'\]; .*'size'"),
     ("schedule", r"\[schedule\] does not know \['depth'\]"),
     ("objective", r"the preset does not know \['objective'\]")],
)  # fmt: skip
def test_a_mistake_names_what_there_is(tmp_path, table, wrong):
    own = tmp_path / "own.toml"
    own.write_text(f"[{table}]\ndepth = 3\n")
    with pytest.raises(ValueError, match=wrong):
        proposer_presets.read(str(own))


def test_an_unknown_preset_is_refused_with_those_of_proposals():
    with pytest.raises(LookupError, match="no preset 'none'; there are: detector, or give a path"):
        proposer_presets.read("none")
