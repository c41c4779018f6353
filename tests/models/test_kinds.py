import pytest
import torch

from models.kinds import UNSEEN, Kind, Kinds

PERSON, ANIMAL = Kind(("person",), 2.0, 0.0), Kind(("animal",), 1.0, 0.0)


@pytest.fixture
def train():
    """Three classes, the last of which no photo shows: logits, what is named, classes, words."""
    logits = torch.tensor([[9.0, 0, 0]] * 30 + [[0, 9.0, 0]] * 30)
    named = torch.tensor([[1.0, 0.0]] * 30 + [[0.0, 0.8]] * 30)
    classes = torch.tensor([[0.0, 0, 0], [0, 1, 1]])
    words = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    return logits, named, classes, words


@pytest.fixture
def kinds(train):
    made = Kinds((PERSON, ANIMAL), classes=3, words=4)
    made.fit(*train)
    return made


def test_shares_are_those_of_a_literal_loop(train, kinds):
    logits, named, classes, _ = train
    for g, kind in enumerate((PERSON, ANIMAL)):
        for c in range(3):
            seen, photos = UNSEEN * classes[g, c].item(), UNSEEN
            for i, row in enumerate(logits):
                p = (row / kind.temperature).exp() / (row / kind.temperature).exp().sum()
                seen, photos = seen + (p[c] * named[i, g]).item(), photos + p[c].item()
            assert kinds.shares[g, c].item() == pytest.approx(seen / photos, rel=1e-4)


def test_a_class_that_train_does_not_show_counts_by_its_name(kinds):
    logits = torch.tensor([[0, 0, 9.0]])
    assert kinds.absent(logits).tolist() == [[1.0, 0.0]]  # it is an animal's class


def test_train_photos_with_a_kind_show_it(train, kinds):
    absent = kinds.absent(train[0])
    assert not absent[:30, 0].any()
    assert not absent[30:, 1].any()
    assert absent[30:, 0].all()


def test_the_threshold_passes_over_a_share_of_the_photos(train):
    logits, named, classes, words = train
    logits = logits.clone()
    logits[:3] = torch.tensor([0, 0, 9.0])  # a tenth of those with a person looks otherwise
    made = Kinds((Kind(("person",), 2.0, 0.2),), classes=3, words=4)
    made.fit(logits, named[:, :1], classes[:1], words[:1])
    assert made.absent(logits)[:30, 0].tolist() == [1.0] * 3 + [0.0] * 27


def test_words_of_all_absent_kinds_are_named(kinds):
    absent = torch.tensor([[1.0, 0], [0, 0], [1, 1]])
    assert kinds.names(absent).tolist() == [
        [True, False, False, False],
        [False] * 4,
        [True, True, False, False],
    ]


def test_a_kind_that_no_photo_shows_is_refused(train):
    logits, named, classes, words = train
    made = Kinds((PERSON, ANIMAL), classes=3, words=4)
    with pytest.raises(ValueError, match="no photo's sentences name the kind 'animal'"):
        made.fit(logits, named * torch.tensor([1.0, 0]), classes, words)


def test_a_captioner_without_kinds_stores_nothing_of_them():
    assert Kinds((), classes=3, words=4).state_dict() == {}
    assert set(Kinds((PERSON,), classes=3, words=4).state_dict()) == {"shares", "least", "words"}
