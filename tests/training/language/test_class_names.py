import pytest

from training.language.class_names import levels, line, read_nouns, synsets_of_classes

LICENCE = "  1 This software and database is being provided to you ...  \n"
NOUNS = """\
00000010 03 n 01 entity 0 000 | that which is
00000020 05 n 02 bird 0 fowl 1 001 @ 00000010 n 0000 | feathered
00000030 05 n 01 crane 0 002 @ 00000020 n 0000 ~ 00000035 n 0000 | a wading bird
00000040 06 n 01 machine 0 001 @ 00000010 n 0000 | it works
00000050 06 n 01 ball-pen 0 001 @ 00000040 n 0000 | writes
00000060 06 n 02 crane 1 Grus_machina 0 001 @ 00000040 n 0000 | lifts
"""


@pytest.fixture
def nouns(tmp_path):
    file = tmp_path / "data.noun"
    file.write_text(LICENCE + NOUNS)
    return dict(read_nouns(file))


def test_a_synset_has_its_names_and_broader_terms(nouns):
    assert nouns[60].names == ("crane", "Grus machina")
    assert nouns[30].broader == (20,)  # and not the narrower 35


def test_the_order_of_classes_picks_among_the_meanings_of_a_name(nouns):
    assert synsets_of_classes(["crane", "ball pen"], nouns) == [30, 50]
    assert synsets_of_classes(["ball pen", "crane"], nouns) == [50, 60]


def test_classes_that_wordnet_lacks_or_has_in_another_order_are_refused(nouns):
    with pytest.raises(ValueError, match="1 of the 2"):
        synsets_of_classes(["crane", "unicorn"], nouns)


def test_a_line_has_names_and_what_is_broader_but_not_everything(nouns):
    assert line(levels(30, nouns)) == "crane > bird; fowl"
    assert line(levels(60, nouns)) == "crane; Grus machina > machine"


def test_a_folder_without_wordnet_is_refused_with_where_to_get_it(tmp_path):
    with pytest.raises(LookupError, match="wordnet-base"):
        dict(read_nouns(tmp_path / "data.noun"))
