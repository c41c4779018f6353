import pytest
import torch
import torch.nn.functional as F

from models.captioners import multimodal_rnn
from training.captioners.batches import CaptionDataset
from training.captioners.objectives import CrossEntropy, SelfCritical, logits

SIGHT = {"views": ("lite0@64",), "proposals": "windows"}
SMALL = {**SIGHT, "recurrence": "lstm", "embedding": 32, "hidden": 32, "dropout": 0.0}
SENTENCES = [[torch.tensor([2, 3]), torch.tensor([2])], [torch.tensor([3])]]


@pytest.fixture
def model():
    torch.manual_seed(0)
    return multimodal_rnn.Model(multimodal_rnn.Config(("a", "dog", "cat"), **SMALL))


@pytest.fixture
def batch():
    torch.manual_seed(0)
    return CaptionDataset(list(torch.rand(2, 1, 1280)), SENTENCES, size=2).batch([0, 1])


def test_the_loss_of_real_words_alone_is_learnt(model, batch):
    predicted, targets = logits(model, batch, "cpu")
    assert targets.tolist() == [2, 3, 0, 2, 0, 3, 0]
    assert predicted.shape == (7, 5)
    loss = CrossEntropy(model.eval(), "cpu", "float32")((batch,), 1)
    predicted, _ = logits(model, batch, "cpu")
    torch.testing.assert_close(loss, F.cross_entropy(predicted, targets))


def test_an_advantage_is_against_the_other_captions_of_the_photo(model):
    references = [["a dog", "the dog"], ["a cat"]]
    objective = SelfCritical(CrossEntropy(model, "cpu", "float32"), references, samples=2)
    captions = [torch.tensor(one) for one in ([2, 3], [2, 4], [2, 4], [2, 4])]
    found = objective.advantages(captions, [0, 1])
    assert found[0] == -found[1] > 0  # "a dog" is better of the first photo than "a cat"
    assert found[2:].tolist() == [0, 0]


def test_a_reward_tells_photos_apart_that_were_described_alike(model):
    torch.manual_seed(0)
    photos, both = torch.rand(2, 1, 1280), [torch.tensor([2, 3]), torch.tensor([2, 4])]
    batch = CaptionDataset(list(photos), [both, both], size=2).batch([0, 1])
    truth = CrossEntropy(model, "cpu", "float32")
    reward = SelfCritical(truth, [["a dog"], ["a cat"]], samples=16)
    optimizer = torch.optim.Adam(model.language.parameters(), lr=3e-3)
    for objective, steps in ((truth, 40), (reward, 80)):
        for _ in range(steps):
            optimizer.zero_grad()
            objective((batch,), 1).backward()
            optimizer.step()
    drawn = [one.tolist() for one in reward.draw(photos)]
    right = [one[-1:] == [3] for one in drawn[:16]] + [one[-1:] == [4] for one in drawn[16:]]
    assert sum(right) > 28  # of 32; by chance 16


def test_one_caption_of_a_photo_has_no_other_to_compare_with(model):
    with pytest.raises(ValueError, match="at least 2"):
        SelfCritical(CrossEntropy(model, "cpu", "float32"), [["a"]], samples=1)
