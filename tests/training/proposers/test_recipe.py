import pytest

from training.proposers import recipe as proposal_recipe


def test_the_preset_that_ships_gives_its_recipe():
    recipe = proposal_recipe.read("detector")
    assert recipe.config == {}
    assert (recipe.optimizer.learning_rate, recipe.schedule.average) == (1.5e-3, 0.99)


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
        proposal_recipe.read(str(own))


def test_an_unknown_preset_is_refused_with_those_of_proposals():
    with pytest.raises(LookupError, match="no preset 'none'; there are: detector, or give a path"):
        proposal_recipe.read("none")
