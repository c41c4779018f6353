import pytest

from training.grounders import preset as grounder_presets
from training.grounders.preset import Supervision, Weak, parse, read
from training.runs.presets import PRESETS


def test_every_preset_that_ships_is_sound():
    names = [path.stem for path in (PRESETS / grounder_presets.PRESETS).glob("*.toml")]
    assert {"supervised", "weak"} <= set(names)
    for name in names:
        read(name)


def test_presets_differ_by_what_they_are_told():
    assert read("weak").objective == Weak()
    assert read("supervised").objective == Supervision()
    assert read("ranking-both").objective == Supervision(
        lambda_1=2.0, lambda_2=0.1, lambda_3=0.1, mined=0
    )


@pytest.mark.parametrize(
    ("tables", "wrong"),
    [
        (
            {"objective": {"name": "told"}},
            "name is 'told'; there are: supervised, weak, correlation",
        ),
        ({"objective": {"name": "weak", "margin": 1}}, r"\[objective\] does not know \['margin'\]"),
        ({"model": {"depth": 1}}, r"\[model\] does not know \['depth'\]"),
        ({"objective": {"name": "correlation"}}, "give epochs = 0 with it"),
        ({"loss": {}}, r"the preset does not know \['loss'\]"),
    ],
)
def test_a_mistake_names_what_there_is(tables, wrong):
    with pytest.raises(ValueError, match=wrong):
        parse("mine", {"objective": {"name": "weak"}, **tables})


def test_an_unknown_preset_is_refused():
    with pytest.raises(LookupError, match="no preset 'none'; there are: cca, mined, "):
        read("none")
