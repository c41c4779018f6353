import torch

from models.captions.captioning import UNKNOWN
from training.captioners.batches import CaptionDataset, MixedDataset, shift, word_indices


def test_each_word_is_given_before_it_is_a_target():
    given, targets = shift([torch.tensor([5, 6, 7]), torch.tensor([8])])
    assert given.tolist() == [[0, 5, 6, 7], [0, 8, 0, 0]]
    assert targets.tolist() == [[5, 6, 7, 0], [8, 0, -1, -1]]


def test_words_outside_the_vocabulary_and_long_sentences_are_cut():
    (caption,) = word_indices(["A dog sees a unicorn today ."], ("a", "dog"), longest=5)
    assert caption.tolist() == [2, 3, UNKNOWN, 2, UNKNOWN]


def mixed(epochs, with_photos):
    sentences = [[torch.tensor([2, 3]), torch.tensor([2])], [torch.tensor([3])]]
    photos = CaptionDataset(list(torch.rand(2, 4, 8)), sentences, size=1)
    texts = [torch.tensor([5]), torch.tensor([6, 7]), torch.tensor([8])]
    return MixedDataset(photos, torch.eye(3), texts, epochs, 2, with_photos)


def test_text_comes_alone_first_and_then_beside_the_photos():
    torch.manual_seed(0)
    dataset = mixed(epochs=1, with_photos=1)
    alone, later = list(dataset.batches(1)), list(dataset.batches(2))
    assert [len(step) for step in alone] == [1, 1]  # as many steps as the photos have
    assert [len(step[0].vectors) for step in alone] == [2, 1]
    assert [len(step) for step in later] == [2, 2]
    for photos, text in later:
        assert photos.photos.shape == (1, 4, 8)
        assert text.vectors.shape == (1, 3)
    own = {tuple(step[0].positions) for step in later}
    assert own == {(0,), (1,)}


def test_each_text_keeps_its_vector_and_none_comes_twice_before_all_came():
    torch.manual_seed(0)
    drawn = mixed(1, 1).draw(1)
    first = [next(drawn) for _ in range(3)]
    assert sorted(batch.given.tolist()[0][1] for batch in first) == [5, 6, 8]
    for batch in first:
        number = int(batch.vectors[0].argmax())
        assert batch.targets.tolist()[0][0] == [5, 6, 8][number]


def test_without_text_beside_them_photos_are_alone():
    assert [len(step) for step in mixed(0, 0).batches(1)] == [1, 1]
