import gzip
import random

import pytest
from typer.testing import CliRunner

from models.text.parsing import digest
from training.cli import app
from training.language.parser import evaluate, imitate_caption, read, train

TREEBANK = """\
# text = He can't run.
1\tHe\the\tPRON\tPRP\t_\t4\tnsubj\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tca\tcan\tAUX\tMD\t_\t4\taux\t_\tSpaceAfter=No
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\trun\trun\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No
4.1\trun\trun\tVERB\tVB\t_\t_\t_\t_\t_
5\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

# text = Black dogs
1\tBlack\tblack\tADJ\tJJ\t_\t2\tamod\t_\t_
2\tdogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_
"""

QUICK = {
    "training.max_steps": 40,
    "training.eval_frequency": 20,
    "training.optimizer.learn_rate.warmup_steps": 1,
    "training.optimizer.learn_rate.initial_rate": 0.01,
    "training.dropout": 0.0,
    "components.parser.min_action_freq": 1,
    "components.trainable_lemmatizer.min_tree_freq": 1,
    "components.tok2vec.model.embed.width": 32,
    "components.tok2vec.model.encode.width": 32,
    "initialize.before_init.most": 300,
    "corpora.train.like_captions": False,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A treebank of two sentences."""
    folder = tmp_path_factory.mktemp("treebank")
    for split in ("train", "dev"):
        (folder / f"en_tiny-{split}.conllu").write_text(TREEBANK)
    return folder


@pytest.fixture(scope="module")
def trained(folder):
    train(folder, folder / "parser", 0, QUICK)
    return folder / "parser"


def test_trees_hold_words_but_no_multiword_tokens_and_no_empty_nodes(folder):
    first, second = read(folder / "en_tiny-dev.conllu")
    assert first.words == ("He", "ca", "n't", "run", ".")
    assert first.spaces == (True, False, True, False, True)
    assert first.heads == (3, 3, 3, 3, 3)
    assert second.relations == ("amod", "root")
    assert second.tags == ("JJ", "NNS")


def test_captions_lose_their_full_stop_or_their_capitals_now_and_then(folder):
    first, _ = read(folder / "en_tiny-dev.conllu")
    chance = random.Random(0)
    seen = {imitate_caption(first, chance).words for _ in range(100)}
    assert seen == {
        ("He", "ca", "n't", "run", "."),
        ("He", "ca", "n't", "run"),
        ("he", "ca", "n't", "run", "."),
        ("he", "ca", "n't", "run"),
    }


def test_a_pipeline_learns_its_treebank(trained, folder):
    accuracy = evaluate(folder / "en_tiny-dev.conllu", trained)
    assert (accuracy.words, accuracy.tags, accuracy.lemmas) == (7, 100, 100)
    assert (accuracy.uas, accuracy.las, accuracy.las_without_punctuation) == (100, 100, 100)


def test_the_command_tells_a_pipelines_accuracy(trained, folder):
    arguments = [str(folder / "en_tiny-dev.conllu"), "--pipeline", str(trained)]
    result = CliRunner().invoke(app, ["evaluate-parser", *arguments])
    assert result.output.startswith("7 words: tags 100.00, lemmas 100.00, UAS 100.00, LAS 100.00;")


def test_the_same_seed_gives_the_same_pipeline(trained, folder, tmp_path):
    train(folder, tmp_path / "again", 0, QUICK)
    assert digest(str(tmp_path / "again")) == digest(str(trained))


def test_a_trained_pipeline_names_no_place_of_the_machine(trained, folder):
    for file in (trained / "config.cfg", trained / "meta.json"):
        assert str(folder) not in file.read_text()


def test_a_folder_without_a_treebank_is_refused(tmp_path):
    with pytest.raises(LookupError, match=r"-train\.conllu"):
        train(tmp_path, tmp_path / "parser")


@pytest.mark.parametrize("content", [b"\xff\xd8\xff", b"a dog\n", b""])
def test_a_file_of_another_format_is_named(tmp_path, content):
    (tmp_path / "a.conllu").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.conllu is no CoNLL-U file"):
        list(read(tmp_path / "a.conllu"))


EMPTY = gzip.compress(b"", mtime=0)


@pytest.mark.parametrize("content", [b"a dog\n", EMPTY[:-1], EMPTY[:10] + b"\xff" * 9])
def test_a_damaged_gzip_is_named(tmp_path, content):
    (tmp_path / "a.conllu.gz").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.conllu\.gz is no CoNLL-U file"):
        list(read(tmp_path / "a.conllu.gz"))
