import pytest
import torch
from torchvision.ops import box_iou

from models.types import WHOLE_FRAME
from models.vision.proposals import (
    REGIONS,
    TorchvisionDetector,
    Windows,
    choose,
    grid,
    load,
    windows,
)


def test_there_are_twenty_different_windows_and_the_whole_frame_is_first():
    assert len(set(windows())) == len(windows()) == REGIONS == 20
    assert windows()[0] == WHOLE_FRAME


def test_windows_lie_inside_the_frame():
    for box in windows():
        assert 0 <= box.left < box.right <= 1
        assert 0 <= box.top < box.bottom <= 1


def test_a_grid_runs_from_edge_to_edge_row_by_row():
    boxes = grid(3, 0.4)
    assert [round(box.left, 6) for box in boxes[:3]] == [0.0, 0.3, 0.6]
    assert [round(box.top, 6) for box in boxes[::3]] == [0.0, 0.3, 0.6]


def test_every_photo_gets_the_same_windows():
    boxes = Windows().propose([torch.zeros(3, 8, 8)] * 2, [torch.zeros(2, 5, 7, 7)])
    assert boxes.shape == (2, REGIONS, 4)
    assert torch.equal(boxes[0], boxes[1])
    assert boxes[0, 0].tolist() == [0, 0, 1, 1]


def test_the_frame_comes_first_and_a_box_like_a_better_one_is_left_out():
    detected = torch.tensor(
        [[0.0, 0.0, 0.3, 0.3], [0.0, 0.0, 0.3, 0.29], [0.0, 0.0, 1.0, 0.95], [0.7, 0.7, 0.9, 0.9]]
    )
    boxes = choose(detected)
    assert boxes.shape == (REGIONS, 4)
    assert torch.equal(boxes[:3], torch.tensor([[0.0, 0.0, 1.0, 1.0], *detected[[0, 3]].tolist()]))


def test_a_photo_in_which_nothing_is_found_gets_windows():
    boxes = choose(torch.empty(0, 4))
    assert boxes.shape == (REGIONS, 4)
    assert (box_iou(boxes, Windows().boxes).amax(dim=1) == 1).all()


def test_windows_go_by_their_name():
    assert load("windows").key() == Windows().key()
    assert load("frame").key() == [[0, 0, 1, 1]]


def test_a_name_that_nothing_knows_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"use windows, frame, learned, or one of .*fasterrcnn"):
        load("selective-search")


def test_weights_that_torchvision_lacks_are_refused():
    with pytest.raises(ValueError, match="there are: COCO_V1"):
        load("fasterrcnn_mobilenet_v3_large_320_fpn:IMAGENET")


def test_a_torchvision_detector_gives_boxes_inside_photos_of_any_shape(photos):
    torch.manual_seed(0)
    detector = load("fasterrcnn_mobilenet_v3_large_320_fpn")
    assert isinstance(detector, TorchvisionDetector)
    with torch.inference_mode():
        boxes = detector.propose(photos, [])
    assert boxes.shape == (len(photos), REGIONS, 4)
    assert boxes[:, 0].tolist() == [[0, 0, 1, 1]] * len(photos)
    assert (boxes >= 0).all()
    assert (boxes <= 1).all()
