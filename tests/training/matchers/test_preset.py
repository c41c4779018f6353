import pytest

from models import checkpoint
from models.matcher import TwoTowerMatcher
from models.shipped import PRETRAINED
from tests import encoders
from training.encoders import adopt as adopting
from training.matchers import preset
from training.matchers.loss import ObjectiveTerm
from training.matchers.preset import parse
from training.runs import presets as inheritance

TABLES = {
    "model": {
        "score": "sum_of_max",
        "image": {"name": "cells", "dimension": 16},
        "text": {"name": "known_words", "dimension": 16},
    },
    "objective": {"name": "ranking", "margin": 0.5},
    "optimizer": {"learning_rate": 0.01, "rates": {"words.": 0.1}},
    "schedule": {"epochs": 3},
    "splits": ["train", "restval"],
}

MODEL = 'model.image.name = "cells"\nmodel.text.name = "known_words"\n'


@pytest.fixture(scope="module")
def read_shipped(tmp_path_factory):
    """Reads a shipped preset; `titles` begins with an adopted encoder."""
    adopted = tmp_path_factory.mktemp("adopted") / "siglip.safetensors"
    adopting.adopt(encoders.folder("siglip"), adopted, adopting.Choice(), "mit", "siglip")
    return lambda name: preset.read(name, start=adopted if name == "titles" else None)


def test_a_preset_says_what_each_part_is_made_with():
    made = parse("mine", TABLES)
    assert made.model.towers == "cells + known_words"
    assert (made.model.image.options.dimension, made.model.image.options.dropout) == (16, 0.1)
    assert (made.model.score, made.model.euclidean) == ("sum_of_max", False)
    assert made.objectives == (ObjectiveTerm("ranking", options={"margin": 0.5}),)
    assert (made.optimizer.rates, made.schedule.epochs) == ({"words.": 0.1}, 3)
    assert made.splits == ("train", "restval")
    assert made.with_epochs(7).schedule.epochs == 7
    assert made.with_epochs(None) == made


@pytest.mark.parametrize("solved", ["cca", "kcca", "products"])
def test_what_is_solved_for_has_no_epochs(solved):
    with pytest.raises(ValueError, match="has no epochs"):
        preset.read(solved).with_epochs(2)


def test_several_objectives_are_weighed_and_take_turns():
    aims = [{"name": "contrastive", "last": 2}, {"name": "ranking", "weight": 0.5, "first": 2}]
    made = parse("mine", TABLES | {"objective": aims})
    assert [[term.counts_in(epoch) for epoch in (1, 2, 3)] for term in made.objectives] == [
        [True, True, False],
        [False, True, True],
    ]
    assert made.objectives[1].weight == 0.5


@pytest.mark.parametrize(
    ("table", "known"),
    [("model", "score"), ("objective", "margin"), ("optimizer", "weight_decay"),
     ("schedule", "warmup")],
)  # fmt: skip
def test_an_unknown_option_names_the_known_ones(table, known):
    with pytest.raises(ValueError, match=rf"does not know \['speed'\]; it knows \[.*'{known}'"):
        parse("mine", TABLES | {table: TABLES[table] | {"speed": 1}})


@pytest.mark.parametrize(
    ("table", "option", "value", "wrong"),
    [("objective", "margin", "big", "margin is 'big': give a number"),
     ("objective", "margin", True, "margin is True: give a number"),
     ("objective", "weight", float("nan"), "weight is nan: give a number"),
     ("objective", "weight", float("inf"), "weight is inf: give a number"),
     ("objective", "last", 1.5, "last is 1.5: give a whole number"),
     ("optimizer", "learning_rate", "fast", "learning_rate is 'fast': give a number"),
     ("schedule", "epochs", "3", "epochs is '3': give a whole number")],
)  # fmt: skip
def test_an_option_of_another_type_is_refused(table, option, value, wrong):
    with pytest.raises(ValueError, match=wrong):
        parse("mine", TABLES | {table: TABLES[table] | {option: value}})


def test_an_option_of_a_tower_of_another_type_is_refused():
    towers = TABLES["model"] | {"image": TABLES["model"]["image"] | {"dimension": "large"}}
    with pytest.raises(ValueError, match="dimension is 'large': give a whole number"):
        parse("mine", TABLES | {"model": towers})


def test_options_are_of_the_types_of_an_objective_s_own():
    for table, wrong in [
        ({"name": "fragments", "mil": 1}, "mil is 1: give true or false"),
        ({"name": "squared", "moves": 2}, "moves is 2: give a text"),
        ({"name": "structure", "top": 2.5}, "top is 2.5: give a whole number"),
    ]:
        with pytest.raises(ValueError, match=wrong):
            parse("mine", TABLES | {"objective": table})
    made = parse("mine", TABLES | {"objective": {"name": "ranking", "margin": 1}})
    assert made.objectives[0].options == {"margin": 1}


@pytest.mark.parametrize(("side", "known"), [("image", "dropout"), ("text", "words")])
def test_an_unknown_option_of_a_tower_names_the_known_ones(side, known):
    towers = TABLES["model"] | {side: TABLES["model"][side] | {"speed": 1}}
    wrong = rf"\[model.{side}\] does not know \['speed'\]; it knows \[.*'{known}'"
    with pytest.raises(ValueError, match=wrong):
        parse("mine", TABLES | {"model": towers})


def test_a_model_needs_two_towers_that_there_are():
    image, text = TABLES["model"]["image"], TABLES["model"]["text"]
    with pytest.raises(ValueError, match=r"\[model.text\] needs a name, one of .*brnn"):
        parse("mine", TABLES | {"model": {"image": image}})
    with pytest.raises(LookupError, match="no model 'known_words' among image_towers"):
        parse("mine", TABLES | {"model": {"image": text, "text": text}})
    with pytest.raises(ValueError, match=r"\[model.correlation\] does not know \['ridges'\]"):
        parse("mine", TABLES | {"model": TABLES["model"] | {"correlation": {"ridges": 1}}})


def test_an_unknown_table_or_objective_is_refused():
    with pytest.raises(ValueError, match=r"does not know \['modle'\]"):
        parse("mine", TABLES | {"modle": {}})
    with pytest.raises(LookupError, match="no objective 'hinge'; there are: contrastive, distill"):
        parse("mine", TABLES | {"objective": {"name": "hinge"}})
    with pytest.raises(ValueError, match="needs a name, one of contrastive, distillation, frag"):
        parse("mine", TABLES | {"objective": {"margin": 1}})


def test_teachers_are_a_preset_of_their_own():
    aims = [{"name": "contrastive"}, {"name": "distillation", "temperature": 3.0}]
    tables = TABLES | {"objective": aims, "teachers": {"preset": "tessera", "count": 3}}
    made = parse("mine", tables)
    assert made.teachers == preset.Teachers(preset.read("tessera"), 3)
    assert made.with_epochs(1).teachers == made.teachers
    assert made.describe()["teachers"]["preset"]["schedule"]["epochs"] == 3


@pytest.mark.parametrize(
    ("tables", "wrong"),
    [({"teachers": {"preset": "tessera"}}, "need each other"),
     ({"objective": {"name": "distillation"}}, "need each other"),
     ({"teachers": {"count": 2}}, "needs a preset"),
     ({"teachers": {"preset": "tessera", "count": 0}}, "at least 1"),
     ({"teachers": {"preset": "tessera", "seed": 0}}, r"does not know \['seed'\]")],
)  # fmt: skip
def test_teachers_without_a_lesson_or_the_other_way_round_are_refused(tables, wrong):
    with pytest.raises(ValueError, match=wrong):
        parse("mine", TABLES | tables)


@pytest.mark.parametrize("table", ["catalogue", "teachers"])
def test_photos_are_held_out_of_plain_trainings_alone(table):
    with pytest.raises(ValueError, match="hold_out goes with neither"):
        parse("mine", {"model": MODEL, "hold_out": 5, table: {}})


@pytest.mark.parametrize(
    ("tables", "wrong"),
    [({"mirrored": 1}, "mirrored is 1: give true or false"),
     ({"mirrored": True, "terms": {}, "start": {"checkpoint": "matcher"}, "catalogue": {}},
      r"mirrored does not go with \[terms\]"),
     ({"cropped": 0}, "cropped is 0: give a share of sides, such as 0.75"),
     ({"cropped": True, "terms": {}, "start": {"checkpoint": "matcher"}, "catalogue": {}},
      r"cropped does not go with \[terms\]")],
)  # fmt: skip
def test_changes_of_photos_are_of_their_kind_and_for_what_learns_in_steps(tables, wrong):
    with pytest.raises(ValueError, match=wrong):
        parse("mine", {"model": MODEL} | tables)


def test_a_teacher_s_path_starts_at_its_learner_s_folder(tmp_path):
    alone = MODEL + '[objective]\nname = "contrastive"\n'
    taught = MODEL + '[[objective]]\nname = "distillation"\n[teachers]\n'
    (tmp_path / "alone.toml").write_text(alone)
    (tmp_path / "mine.toml").write_text(taught + 'preset = "alone.toml"')
    mine = str(tmp_path / "mine.toml")
    assert preset.read(mine).teachers.preset.name == "alone"
    (tmp_path / "pupil.toml").write_text(taught + 'preset = "mine.toml"')
    with pytest.raises(ValueError, match=r"mine\.toml: a teacher cannot have \[teachers\]"):
        preset.read(str(tmp_path / "pupil.toml"))
    (tmp_path / "mine.toml").write_text(taught + 'preset = "mine.toml"')
    with pytest.raises(ValueError, match="a teacher cannot have"):
        preset.read(mine)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.toml").write_text(alone)
    (tmp_path / "mine.toml").write_text(taught + 'preset = "other/mine.toml"')
    with pytest.raises(ValueError, match="called mine, too"):
        preset.read(mine)


def test_a_file_of_ones_own_is_read_and_its_mistakes_carry_its_name(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(MODEL + '[objective]\nname = "ranking"\n')
    assert preset.read(str(file)).name == "mine"
    file.write_text(MODEL.replace("cells", "cubes") + '[objective]\nname = "ranking"\n')
    with pytest.raises(ValueError, match=r"mine\.toml: .*no model 'cubes'"):
        preset.read(str(file))
    file.write_text(MODEL + '[objective]\nname = "ranking"\nmargin = "big"\n')
    with pytest.raises(ValueError, match=r"mine\.toml: margin is 'big': give a number"):
        preset.read(str(file))
    file.write_text("[model")
    with pytest.raises(ValueError, match=r"mine\.toml"):
        preset.read(str(file))


def test_an_unknown_preset_names_the_ones_that_ship():
    with pytest.raises(LookupError, match=f"there are: {', '.join(inheritance.list_names())}"):
        preset.read("nothing")


def test_every_preset_that_ships_is_sound(read_shipped):
    for name in inheritance.list_names():
        assert read_shipped(name).name == name


@pytest.mark.parametrize("table", [{}, {"checkpoint": "matcher", "adopted": True}])
def test_a_start_is_a_shipped_checkpoint_or_an_adopted_encoder(table):
    with pytest.raises(ValueError, match="either a checkpoint or adopted = true"):
        parse("mine", {"start": table})


def test_scores_within_one_are_learned_at_a_temperature(read_shipped):
    """A softmax over cosines as they are hardly tells true from false."""
    for name in inheritance.list_names():
        made = read_shipped(name)
        picking = [term for term in made.objectives if term.name in ("contrastive", "labels")]
        if picking and made.model.image.name == "branch":
            assert all(term.options["temperature"] <= 0.1 for term in picking), name


def test_the_towers_of_every_preset_fit_together(read_shipped):
    presets = [read_shipped(name) for name in inheritance.list_names()]
    models = {repr(one.model): one.model for one in presets}
    for model in models.values():
        matcher = TwoTowerMatcher(model)
        assert matcher.dimension > 0
        assert matcher.config == model


def test_a_preset_may_begin_with_a_checkpoint_and_take_its_model(tmp_path):
    made = TwoTowerMatcher(parse("mine", TABLES).with_epochs(None).model)
    checkpoint.save(tmp_path / "m.safetensors", "matchers", "cells", made, {})
    tables = {key: table for key, table in TABLES.items() if key != "model"}
    begun = parse(
        "mine",
        tables | {"start": {"checkpoint": "matcher", "share": 0.5}, "catalogue": {"rounds": 4}},
        start=tmp_path / "m.safetensors",
    )
    assert begun.model == made.config
    assert (begun.share, begun.sampling.rounds) == (0.5, 4)
    with pytest.raises(ValueError, match="share is 1"):
        parse("mine", tables | {"start": {"checkpoint": "matcher", "share": 1}})


def test_the_preset_of_products_has_the_model_that_ships():
    products = preset.read("products")
    assert products.model.towers == "regions_in_context + minilm"
    light = preset.read("products", start=PRETRAINED / "matcher-light.safetensors")
    assert len(light.model.image.options.views) < len(products.model.image.options.views)


@pytest.mark.parametrize("name", inheritance.list_names())
@pytest.mark.parametrize("epochs", [1, 2, 5])
def test_every_preset_takes_a_short_trial(name, epochs, read_shipped):
    shipped = read_shipped(name)
    if not shipped.schedule.epochs:
        pytest.skip("it is solved for")
    short = shipped.with_epochs(epochs)
    assert all(drop <= epochs for drop in short.schedule.drops)
    for epoch in range(1, epochs + 1):
        assert any(term.counts_in(epoch) for term in short.objectives)
    changed = preset.describe_changes(shipped, short)
    assert bool(changed) == (
        (shipped.schedule.drops, [(term.first, term.last) for term in shipped.objectives])
        != (short.schedule.drops, [(term.first, term.last) for term in short.objectives])
    )


def test_objectives_keep_their_share_of_the_epochs():
    short = preset.read("defrag").with_epochs(2)
    assert short.schedule.drops == (2,)
    assert [(term.name, term.first, term.last) for term in short.objectives] == [
        ("fragments", 1, 1),
        ("fragments", 2, None),
        ("ranking", 1, None),
    ]
    assert preset.describe_changes(preset.read("defrag"), short) == [
        "the rate drops after epoch 2 of 2 instead of 5 of 6",
        "objectives change at the same shares of the epochs: fragments 1 to 1, fragments 2 to 2, "
        "ranking 1 to 2",
    ]


def test_objectives_without_an_epoch_in_a_short_trial_are_named():
    shipped = preset.read("defrag")
    assert preset.describe_changes(shipped, shipped.with_epochs(1))[1:] == [
        "objectives change at the same shares of the epochs: fragments 1 to 1, ranking 1 to 1",
        "too few epochs to learn these, of 6: fragments 1 to 3",
    ]


def test_a_small_train_holds_out_a_quarter_and_says_so(corpus):
    shipped = parse("mine", TABLES | {"hold_out": 500, "splits": ["train"]})
    fitted = shipped.fit_to(corpus)
    assert fitted.hold_out == len(corpus.split("train")) // 4
    (change,) = preset.describe_changes(shipped, fitted)
    assert change.startswith(f"hold_out is {fitted.hold_out} instead of 500 photos")
    assert shipped.with_photos(8).fit_to(corpus).hold_out == 2


def test_a_try_on_fewer_photos_has_a_name_of_its_own(corpus):
    few = parse("mine", TABLES | {"splits": ["train"]}).with_photos(8)
    assert few.name == "mine-8-photos"
    assert few.select(corpus) == list(corpus.split("train")[:8])
    with pytest.raises(ValueError, match="learns all of train: leave the number of photos out"):
        preset.read("products").with_photos(8)
