import gzip

import pytest

from models.text.lexicon import KNOWN, known_words
from training.language import lexicon


@pytest.fixture
def wordnet(tmp_path):
    for part in lexicon.PARTS_OF_SPEECH:
        (tmp_path / f"index.{part}").write_text("  1 This is the licence\n")
        (tmp_path / f"{part}.exc").write_text("geese goose\n")
    (tmp_path / "index.noun").write_text("  1 a licence\nquokka n 1\nhot_dog n 1\nquokkas n 1\n")
    return tmp_path


def test_words_are_written_without_what_rules_find(wordnet, tmp_path):
    out = tmp_path / "words.txt.gz"
    count = lexicon.write(wordnet, out)
    words = gzip.decompress(out.read_bytes()).decode().split()
    assert len(words) == count
    assert {"quokka", "geese", "hoodie", "dog"} <= set(words)
    assert not {"quokkas", "hot_dog", "1", "##ing"} & set(words)
    assert words == sorted(words)


def test_a_folder_without_wordnet_is_refused(tmp_path):
    with pytest.raises(LookupError, match="wordnet-base"):
        lexicon.write(tmp_path, tmp_path / "words.txt.gz")


def test_the_list_that_ships_is_small_and_its_licence_is_beside_it():
    assert KNOWN.stat().st_size < 400_000
    assert len(known_words()) > 50_000
    assert "Princeton University" in (KNOWN.parent / "lexicon.md").read_text("utf-8")
