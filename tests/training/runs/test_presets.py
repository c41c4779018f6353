import pytest

from training.matchers import preset
from training.runs import presets as inheritance
from training.runs.presets import merge, resolve


def flat(value, path=""):
    """Plain values by their dotted path; lists stay whole."""
    if not isinstance(value, dict):
        return {path: value}
    return {key: one for name in value for key, one in flat(value[name], f"{path}.{name}").items()}


MODEL, IMAGE, TEXT = ".model", ".model.image.options.", ".model.text.options."
RATE, AIMS, EPOCHS = ".optimizer.learning_rate", ".objectives", ".schedule.epochs"
EUCLIDEAN = {MODEL + ".euclidean", IMAGE + "unit", TEXT + "unit", AIMS}
ONE_SENTENCE = {AIMS, ".schedule.sentences", EPOCHS}
EXTENDED = {
    "bow-squared": ("bow", EUCLIDEAN),
    "cca-hglmm": ("cca", {TEXT + "features"}),
    "ctrnn-squared": ("ctrnn", EUCLIDEAN),
    "defrag-crops": ("defrag", {IMAGE + "crop"}),
    "defrag-dense-crops": ("defrag-dense", {IMAGE + "crop"}),
    "dvsa-dropout": ("dvsa", {IMAGE + "dropout", TEXT + "dropout"}),
    "sdtrnn-regions-100": ("sdtrnn-regions", {EPOCHS, ".schedule.batch"}),
    "sdtrnn-regions-crops": ("sdtrnn-regions-100", {IMAGE + "crop"}),
    "sdtrnn-tanh": ("sdtrnn", {TEXT + "activation"}),
    "ctrnn": ("sdtrnn", {TEXT + "composition"}),
    "defrag-bigrams": ("defrag-dense", {TEXT + "pairs", AIMS}),
    "defrag-dense": ("defrag", {AIMS}),
    "defrag-fragments": ("defrag", {AIMS}),
    "defrag-frame": ("defrag-dense", {IMAGE + "proposals"}),
    "defrag-global": ("defrag", {AIMS}),
    "defrag-tuned": (
        "defrag-windows",
        {IMAGE + "tuned", AIMS, RATE, ".schedule.drops", ".optimizer.rates.image.sight"},
    ),
    "defrag-windows": (
        "defrag",
        {IMAGE + "proposals", IMAGE + "sizes", IMAGE + "components", IMAGE + "dropout"}
        | {TEXT + "dropout"},
    ),
    "defrag-words": ("defrag-dense", {TEXT + "pairs", AIMS}),
    "dtrnn-squared": ("dtrnn", EUCLIDEAN),
    "dtrnn": ("sdtrnn", {TEXT + "composition"}),
    "dvsa-edges-shared": ("dvsa-edges", {TEXT + "shared"}),
    "rnn": ("sdtrnn", {TEXT + "composition"}),
    "sdtrnn": ("bow", {TEXT + "composition", ".optimizer.rates.text.compose"}),
    "rnn-squared": ("rnn", EUCLIDEAN),
    "sdtrnn-regions": (
        "sdtrnn",
        {IMAGE + "proposals", IMAGE + "components", IMAGE + "dropout", ".schedule.precision"},
    ),
    "sdtrnn-squared": ("sdtrnn", EUCLIDEAN),
    "tessera-light": ("tessera", {IMAGE + "views", IMAGE + "classifiers"}),
    "lite2-tuned": (
        "lite2",
        {IMAGE + "tuned", ".mirrored", RATE, ".optimizer.rates.image.sight", EPOCHS}
        | {".schedule.warmup", ".schedule.clip"},
    ),
    "lite2-world": (
        "lite2",
        {IMAGE + "sizes", TEXT + "frozen_layers", AIMS, ".labels.photos", ".labels.pairs"}
        | {".optimizer.rates.text.upper", ".schedule.sentences"},
    ),
    "lite2-world-tuned": (
        "lite2-world",
        {IMAGE + "tuned", IMAGE + "first_tuned", ".mirrored", ".cropped", RATE}
        | {".optimizer.rates.image.sight", EPOCHS, ".schedule.clip"}
        | {".schedule.average"},
    ),
    "tessera-windows": (
        "tessera",
        {IMAGE + "views", IMAGE + "proposals", IMAGE + "likelihood", TEXT + "prior"},
    ),
    "tessera-world": (
        "tessera",
        {AIMS, ".labels.photos", ".labels.pairs", ".model.references"}
        | {".model.reference_sentences", ".model.offset_weights"},
    ),
    "two-branch-both-ways": ("two-branch", ONE_SENTENCE),
    "two-branch-linear": ("two-branch", {IMAGE + "hidden", TEXT + "hidden", RATE}),
    "two-branch-linear-both-ways": ("two-branch-linear", ONE_SENTENCE),
    "two-branch-linear-one-way": ("two-branch-linear-both-ways", {AIMS}),
    "two-branch-linear-two-sentences": ("two-branch-linear", {AIMS}),
    "two-branch-mean": ("two-branch", {TEXT + "features"}),
    "two-branch-mean-both-ways": ("two-branch-both-ways", {TEXT + "features"}),
    "two-branch-one-way": ("two-branch-both-ways", {AIMS}),
    "two-branch-tfidf": ("two-branch", {TEXT + "features"}),
    "two-branch-tfidf-both-ways": ("two-branch-both-ways", {TEXT + "features"}),
    "two-branch-two-sentences": ("two-branch", {AIMS}),
}


@pytest.mark.parametrize("name", EXTENDED)
def test_a_preset_differs_from_what_it_extends_in_what_it_is_for_and_in_nothing_else(name):
    parent, differences = EXTENDED[name]
    mine, theirs = (flat(preset.read(one).describe()) for one in (name, parent))
    paths = mine.keys() | theirs.keys()
    assert {path for path in paths if mine.get(path) != theirs.get(path)} - {".name"} == differences


def test_own_values_go_over_inherited_ones_and_lists_are_replaced_whole():
    inherited = {"objective": [{"name": "ranking"}], "schedule": {"epochs": 3, "batch": 8}}
    own = {"objective": [{"name": "contrastive"}], "schedule": {"epochs": 5}}
    assert merge(inherited, own) == own | {"schedule": {"epochs": 5, "batch": 8}}
    assert merge({"objective": [{"name": "ranking"}]}, {"objective": {"margin": 1}}) == {
        "objective": {"margin": 1}
    }


def test_options_of_another_tower_are_not_inherited():
    inherited = {"text": {"name": "brnn", "hidden": 64}}
    assert merge(inherited, {"text": {"name": "brnn", "dropout": 0.1}}) == {
        "text": {"name": "brnn", "hidden": 64, "dropout": 0.1}
    }
    assert merge(inherited, {"text": {"name": "pairs"}}) == {"text": {"name": "pairs"}}


def test_a_file_of_ones_own_extends_another_beside_it_or_one_that_ships(tmp_path):
    (tmp_path / "small.toml").write_text('extends = "dvsa"\nmodel.image.sizes = [64]\n')
    (tmp_path / "mine.toml").write_text('extends = "small.toml"\nschedule.epochs = 7\n')
    made = preset.read(str(tmp_path / "mine.toml"))
    assert (made.name, made.schedule.epochs, made.schedule.batch) == ("mine", 7, 100)
    assert made.model.image.options.sizes == (64,)
    assert made.model.text == preset.read("dvsa").model.text


def test_a_teacher_s_path_starts_at_the_folder_of_the_file_that_names_it(tmp_path):
    (tmp_path / "pupils").mkdir()
    (tmp_path / "alone.toml").write_text('extends = "dvsa"\n')
    (tmp_path / "taught.toml").write_text(
        'extends = "tessera-taught"\nteachers.preset = "alone.toml"\n'
    )
    (tmp_path / "pupils" / "mine.toml").write_text('extends = "../taught.toml"\n')
    made = preset.read(str(tmp_path / "pupils" / "mine.toml"))
    assert made.teachers.preset.name == "alone"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [('extends = "mine.toml"', r"mine\.toml: 'mine\.toml' extends itself in the end"),
     ('extends = "nothing"', r"mine\.toml: .*no preset 'nothing'; there are: bow, bow-squared"),
     ("extends = 3", r"extends is 3: give one preset")],
)  # fmt: skip
def test_a_preset_that_extends_nothing_there_is_is_refused(tmp_path, text, wrong):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ValueError, match=wrong):
        preset.read(str(tmp_path / "mine.toml"))


def test_presets_that_extend_each_other_are_refused(tmp_path):
    (tmp_path / "one.toml").write_text('extends = "other.toml"')
    (tmp_path / "other.toml").write_text('extends = "one.toml"')
    with pytest.raises(ValueError, match="extends itself in the end"):
        resolve(tmp_path / "one.toml")


def test_every_preset_that_extends_another_is_compared_with_it():
    extending = {
        name
        for name in inheritance.list_names()
        if "extends = " in inheritance.locate(name).read_text()
    }
    assert extending == EXTENDED.keys() | {"dvsa-edges", "tessera-taught"}


@pytest.mark.parametrize("part", ["matchers", "captioners", "grounders", "proposers"])
def test_every_shipped_preset_has_its_own_name_and_finds_what_it_extends(part):
    files = sorted((inheritance.PRESETS / part).rglob("*.toml"))
    assert len(files) == len(inheritance.list_names(part)) > 0
    assert all("extends" not in inheritance.resolve(file) for file in files)
