import pytest
import torch

from models.captions.kinds import UNSEEN, ThingKind, ThingKinds

PERSON, ANIMAL = ThingKind(("person",), 2.0, 0.0), ThingKind(("animal",), 1.0, 0.0)


@pytest.fixture
def train():
    """Three classes, the last in no photo, and photos' numbers.

    Logits, features, what is named, classes, words. Photos vary along the first number.
    """
    logits = torch.tensor([[9.0, 0, 0]] * 30 + [[0, 9.0, 0]] * 30)
    named = torch.tensor([[1.0, 0.0]] * 30 + [[0.0, 0.8]] * 30)
    classes = torch.tensor([[0.0, 0, 0], [0, 1, 1]])
    words = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    lengths = torch.linspace(5, 9, 30).repeat(2)  # in both kinds alike
    features = torch.stack([lengths, torch.tensor([0.0, 1.0] * 30)], 1)
    features[2::4] *= -1
    features[3::4] *= -1
    return logits, features, named, classes, words


@pytest.fixture
def kinds(train):
    made = ThingKinds((PERSON, ANIMAL), classes=3, features=2, words=4)
    made.fit(*train)
    return made


def test_shares_are_those_of_a_literal_loop(train, kinds):
    logits, _, named, classes, _ = train
    for g, kind in enumerate((PERSON, ANIMAL)):
        for c in range(3):
            seen, photos = UNSEEN * classes[g, c].item(), UNSEEN
            for i, row in enumerate(logits):
                p = (row / kind.temperature).exp() / (row / kind.temperature).exp().sum()
                seen, photos = seen + (p[c] * named[i, g]).item(), photos + p[c].item()
            assert kinds.shares[g, c].item() == pytest.approx(seen / photos, rel=1e-4)


def test_a_class_that_train_does_not_show_counts_by_its_name(train, kinds):
    logits = torch.tensor([[0, 0, 9.0]])
    assert kinds.absent(logits, train[1][1:2]).tolist() == [[1.0, 0.0]]  # it is an animal's class


def test_a_photo_unlike_all_of_train_shows_nothing(train, kinds):
    logits, strange = train[0][:1], torch.tensor([[0.0, 9.0]])
    assert kinds.familiarity(strange) < 0.1 < 0.9 < kinds.familiarity(train[1]).min()
    assert kinds.absent(logits, train[1][1:2]).tolist() == [[0.0, 1.0]]
    assert kinds.absent(logits, strange).tolist() == [[1.0, 1.0]]


def test_familiarity_counts_as_much_as_classes_do(train, kinds):
    logits, features = train[0][1::2], train[1][1::2]
    for g in range(2):
        spread = kinds.by_class(logits)[:, g].std()
        weighed = kinds.slopes[g] * kinds.familiarity(features)
        assert weighed.std().item() == pytest.approx(spread.item(), rel=1e-3)


def test_train_photos_with_a_kind_show_it(train, kinds):
    absent = kinds.absent(train[0], train[1])
    assert not absent[:30, 0].any()
    assert not absent[30:, 1].any()
    familiar_as_any = train[1][1:2].expand(30, 2)
    assert kinds.absent(train[0][30:], familiar_as_any)[:, 0].all()


def test_the_threshold_passes_over_a_share_of_the_photos(train):
    logits, features, named, classes, words = train
    logits = logits.clone()
    logits[[1, 3]] = torch.tensor([0, 0, 9.0])  # two of 15 with a person that set the threshold
    made = ThingKinds((ThingKind(("person",), 2.0, 0.2),), classes=3, features=2, words=4)
    made.fit(logits, features, named[:, :1], classes[:1], words[:1])
    absent = made.absent(logits, features)[1:30:2, 0]
    assert absent.sum() == 3  # a fifth of them
    assert absent[:2].tolist() == [1, 1]


def test_words_of_all_absent_kinds_are_named(kinds):
    absent = torch.tensor([[1.0, 0], [0, 0], [1, 1]])
    assert kinds.names(absent).tolist() == [
        [True, False, False, False],
        [False] * 4,
        [True, True, False, False],
    ]


def test_a_kind_that_no_photo_shows_is_refused(train):
    logits, features, named, classes, words = train
    made = ThingKinds((PERSON, ANIMAL), classes=3, features=2, words=4)
    with pytest.raises(ValueError, match="no photo's sentences name the kind 'animal'"):
        made.fit(logits, features, named * torch.tensor([1.0, 0]), classes, words)


def test_a_captioner_without_kinds_stores_nothing_of_them():
    assert ThingKinds((), classes=3, features=2, words=4).state_dict() == {}
    stored = set(ThingKinds((PERSON,), classes=3, features=2, words=4).state_dict())
    measured = {"shares", "slopes", "least", "words"}
    assert stored == measured | {"components.mean", "components.axes"}
