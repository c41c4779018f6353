import pytest
import torch

from models.types import WHOLE_FRAME, Box, FragmentBag, Span
from models.vision.images import Photo, display_copy

RED, GREEN = (200, 0, 0), (0, 200, 0)
PLACES = (WHOLE_FRAME, Box(0.0, 0.0, 0.5, 1.0), Box(0.5, 0.0, 1.0, 1.0))
WORDS = {"red": [1.0, 0.0], "green": [0.0, 1.0]}


class ColourMatcher:
    """Embeds a photo and its halves by mean red and green."""

    score = "sum_of_max"
    any_word = False
    dimension = 2

    def embed_images(self, images):
        parts = [(image, *image.chunk(2, dim=2)) for image in images]
        return [
            FragmentBag(
                torch.stack([part[:2].float().mean(dim=(1, 2)) / 100 for part in three]),
                PLACES,
                ("", "", ""),
            )
            for three in parts
        ]

    def embed_sentences(self, texts):
        return [
            FragmentBag(
                torch.tensor([WORDS[word] for word in text.split()]),
                tuple(Span(at, at + 1) for at in range(len(text.split()))),
                tuple(text.split()),
            )
            for text in texts
        ]


@pytest.fixture
def colours():
    return ColourMatcher()


@pytest.fixture
def two_colours(tmp_path):
    """Writes a photo of two halves' colours; gives its file."""

    def write(name, left, right):
        halves = [torch.tensor(colour).expand(64, 32, 3) for colour in (left, right)]
        pixels = torch.cat(halves, dim=1).permute(2, 0, 1).byte().contiguous()
        file = tmp_path / name
        file.write_bytes(display_copy(Photo(pixels, ())).jpeg)
        return file

    return write
