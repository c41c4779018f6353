import torch

from models.proposals import REGIONS, Windows, grid, windows
from models.types import WHOLE_FRAME


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
    boxes = Windows().propose(torch.zeros(2, 5, 7, 7))
    assert boxes.shape == (2, REGIONS, 4)
    assert torch.equal(boxes[0], boxes[1])
    assert boxes[0, 0].tolist() == [0, 0, 1, 1]
