import gzip
from zipfile import ZipFile

import numpy as np
import pytest

from training.evaluation.captions import meteor_data
from training.evaluation.captions.meteor import count_matches, normalise, score
from training.evaluation.captions.meteor_alignment import EXACT, PARAPHRASE, STEM, SYNONYM, Aligner


@pytest.fixture
def data(tmp_path):
    """A folder like the package's, with one of each."""
    (tmp_path / "data").mkdir()
    with ZipFile(tmp_path / meteor_data.JAR, "w") as jar:
        jar.writestr("function/english.words", "a\nthe\non\n")
        jar.writestr("synonym/english.synsets", "child\n1 2\nkid\n2 3\nman\n4\nguy\n4\n")
        jar.writestr("synonym/english.exceptions", "man\nmen\n")
    with gzip.open(tmp_path / meteor_data.PARAPHRASES, "wt") as lines:
        lines.write("0.1\nin front of\nbefore\n0.1\nunknown\nbefore\n")
    words = ["in", "front", "of", "before", "a", "dog"]
    return meteor_data.read(tmp_path, words)


def kinds(data, caption, reference):
    matches, chunks = Aligner(data).align(caption.split(), reference.split())
    return sorted((match.kind, match.start, match.first) for match in matches), chunks


def test_words_match_as_they_are_by_stem_and_by_synonym(data):
    assert kinds(data, "dog", "dog") == ([(EXACT, 0, 0)], 1)
    assert kinds(data, "runs", "running") == ([(STEM, 0, 0)], 1)
    assert kinds(data, "kid", "child") == ([(SYNONYM, 0, 0)], 1)
    assert kinds(data, "guy", "men") == ([(SYNONYM, 0, 0)], 1)


def test_phrases_match_paraphrases_both_ways(data):
    assert kinds(data, "before", "in front of") == ([(PARAPHRASE, 0, 0)], 1)
    assert kinds(data, "in front of", "before") == ([(PARAPHRASE, 0, 0)], 1)


def test_paraphrases_of_other_words_are_not_read(data):
    assert data.paraphrases == {("in", "front", "of"): {("before",)}}


def test_the_alignment_with_fewest_chunks_wins(data):
    # "a" may match either "a"; only the second continues "dog".
    assert kinds(data, "a dog", "a x a dog") == ([(EXACT, 2, 0), (EXACT, 3, 1)], 1)


def test_every_run_of_matches_is_a_chunk_where_the_beam_has_more_paths_than_it_keeps(data):
    matches, chunks = kinds(data, "dog sits dog dog", "dogs dogs sits dogs sits")
    assert matches == [(EXACT, 2, 1), (STEM, 1, 0), (STEM, 3, 2)]
    assert chunks == 1


def test_a_score_equals_a_value_worked_by_hand(data):
    # "a dog" against "the dog": dog matches, content; one function word each, unmatched.
    # P = R = .75 / (.75 + .25), one chunk of one match.
    counts = count_matches(Aligner(data), ["a", "dog"], ["the", "dog"])
    assert score(counts) == pytest.approx(0.75 * (1 - 0.6))


def test_a_caption_as_its_reference_scores_one_and_a_strange_one_nothing(data):
    aligner = Aligner(data)
    assert score(count_matches(aligner, ["a", "dog"], ["a", "dog"])) == pytest.approx(1)
    assert score(count_matches(aligner, ["dog"], ["cat"])) == 0
    assert score(np.zeros((2, 11))) == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [("the man 's t-shirt", "the man ' s t shirt"), ("do n't", "do n 't"), ("u.s. mr.", "us mr.")],
)
def test_words_are_normalised_as_meteor_does(words, expected):
    assert normalise(words.split()) == expected.split()
