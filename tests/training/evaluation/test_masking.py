import torch

from models.types import Box
from models.vision.images import Photo, display_copy
from training.data.corpus import Example
from training.evaluation.masking import Masking

BOXES = torch.tensor([[0.0, 0, 1, 1], [0.0, 0, 0.5, 1], [0.5, 0, 1, 1]])


class Bright:
    """An encoder of the left and right halves' brightness."""

    def image_inputs(self, images):
        halves = [image.float().mean((0, 1)).view(2, -1).mean(1) for image in images]
        return [half[None] for half in halves]


def masking(tmp_path):
    pixels = torch.full((3, 16, 16), 127, dtype=torch.uint8)  # grey
    pixels[..., :8] = 255  # but for the left half
    file = tmp_path / "left.jpg"
    file.write_bytes(display_copy(Photo(pixels, ())).jpeg)
    photo = torch.nn.functional.normalize(torch.tensor([255.0, 127.0]), dim=0)
    words = torch.tensor([[0.75, 0.0], [0.25, 0.0]])  # both of them ask for the left half
    return Masking(Bright(), [Example("left", file, ("left",))], photo[None], [words], [BOXES])


def test_the_best_box_adds_most_to_the_words(tmp_path):
    apart = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert masking(tmp_path).best(0, apart) == Box(0.0, 0.0, 0.5, 1.0)
    assert masking(tmp_path).best(0, -apart).left in (0.0, 0.5)  # never the whole photo


def test_the_cosine_falls_with_the_box_that_it_is_about(tmp_path):
    right = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    there, elsewhere = masking(tmp_path).falls([right])
    # 255 / |(255, 127)| before, 127 / |(127, 127)| without what is bright
    assert abs(there - (0.895 - 0.707)) < 0.01
    assert abs(elsewhere) < 0.01
    wrong = masking(tmp_path).falls([right[[0, 2, 1]]])
    assert wrong[0] < there
