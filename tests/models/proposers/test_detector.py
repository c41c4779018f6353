import pytest
import torch
from torchvision.ops import box_iou

from models import checkpoint
from models.proposers.detector import Config, Model
from models.vision.proposals import REGIONS

CONFIG = Config(fine=3, coarse=4, size=128, anchors=(32.0, 64.0), channels=16, hidden=16)


def maps(count=2):
    generator = torch.Generator().manual_seed(0)
    shapes = ((count, 3, 8, 8), (count, 4, 4, 4))
    return [torch.rand(shape, generator=generator) for shape in shapes]


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Model(CONFIG).eval()


def test_a_photo_gets_the_frame_and_19_boxes_inside_it(model):
    boxes = model.propose([], maps())
    assert boxes.shape == (2, REGIONS, 4)
    assert boxes[:, 0].tolist() == [[0, 0, 1, 1]] * 2
    assert (boxes >= 0).all()
    assert (boxes <= 1).all()
    assert (boxes[..., :2] < boxes[..., 2:]).all()


def test_detections_come_best_first(model):
    for found in model(maps()):
        assert found.objectness.tolist() == sorted(found.objectness.tolist(), reverse=True)
        assert len(found.boxes) == len(found.objectness)


def test_a_photo_is_looked_at_alone(model):
    together, alone = model.propose([], maps()), model.propose([], [one[1:] for one in maps()])
    torch.testing.assert_close(together[1:], alone)


@pytest.mark.parametrize("coarse", [(4, 8, 8), (5, 4, 4)])
def test_maps_of_another_size_or_network_are_refused(model, coarse):
    with pytest.raises(ValueError, match="128 pixels"):
        model.propose([], [maps()[0], torch.zeros(2, *coarse)])


def test_a_backbone_of_one_map_is_refused(model):
    with pytest.raises(ValueError, match="or windows"):
        model.propose([], maps()[1:])


def test_the_key_changes_with_the_weights(model):
    torch.manual_seed(1)
    assert model.key() == model.key() != Model(CONFIG).key()


def test_a_checkpoint_of_a_loaded_model_proposes_the_same(model, tmp_path):
    first, second = tmp_path / "first.safetensors", tmp_path / "second.safetensors"
    checkpoint.save(first, "proposers", "detector", model, {})  # rounds to half precision
    once = checkpoint.load(first).model
    checkpoint.save(second, "proposers", "detector", once, {})
    twice = checkpoint.load(second).model
    assert torch.equal(twice.propose([], maps()), once.propose([], maps()))
    assert twice.key() == once.key()


def test_it_learns_where_the_light_is():
    torch.manual_seed(0)
    model = Model(CONFIG).train()
    fine, coarse = torch.zeros(4, 3, 8, 8), torch.zeros(4, 4, 4, 4)
    truth = []
    for photo, (x, y) in enumerate([(0, 0), (2, 0), (0, 2), (2, 2)]):  # a quarter is lit
        coarse[photo, :, y : y + 2, x : x + 2] = 1
        fine[photo, :, 2 * y : 2 * y + 4, 2 * x : 2 * x + 4] = 1
        truth.append(torch.tensor([[x / 4, y / 4, (x + 2) / 4, (y + 2) / 4]]))
    descent = torch.optim.Adam(model.parameters(), 5e-3)
    for _ in range(100):
        descent.zero_grad()
        model.loss([fine, coarse], truth).backward()
        descent.step()
    for found, true in zip(model.eval()([fine, coarse]), truth, strict=True):
        assert box_iou(found.boxes[:2], true).max() > 0.5
