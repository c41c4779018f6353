import pytest
import torch

from models.image_towers.pretrained import Config, differences

# The photo, two boxes, one that no patch is in, and padding.
X = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.5, 0.0], [1.0, 0.0], [9.0, 9.0]]])
MASK = torch.tensor([[True, True, True, True, False]])


def test_against_the_photo_a_box_is_what_it_differs_by():
    expected = torch.tensor([[[0.0, 0], [-1, 1], [-0.5, 0], [0, 0], [0, 0]]])
    torch.testing.assert_close(differences(X, MASK, "photo"), expected)


def test_against_boxes_a_box_is_what_it_has_beyond_their_mean():
    expected = torch.tensor([[[0.0, 0], [-0.25, 0.5], [0.25, -0.5], [0, 0], [0, 0]]])
    torch.testing.assert_close(differences(X, MASK, "boxes"), expected)


def test_a_photo_without_boxes_is_itself():
    assert not differences(X[:, :1], MASK[:, :1], "boxes").any()


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"regions": 1.5}, "regions is 1.5; use 0"),
        ({"recipe": "glance"}, "no recipe 'glance' for boxes; use masked, value, tokens"),
        ({"against": "all"}, "boxes cannot be against 'all'; use photo, boxes"),
        ({"precision": "int3"}, "no precision 'int3'; use float32 or bfloat16"),
    ],
)
def test_an_option_that_means_nothing_is_refused(option, said):
    with pytest.raises(ValueError, match=said):
        Config("somewhere", (), **option)
