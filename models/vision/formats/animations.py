"""Animations: some frames as photos, with their seconds."""

from __future__ import annotations

import numpy as np
from PIL import Image

from models.vision import photo_decoding
from models.vision.formats.video_frames import VideoFrame
from models.vision.photo_decoding import Decoded, ignore_warnings
from models.vision.upright import BROKEN, flatten

ANIMATED = ("GIF", "PNG", "WEBP", "AVIF")
MOST_FRAMES = 4
MOST_PIXELS = 10**8  # of all frames: the ones between are decoded as well


def read_animation(data: bytes, most_pixels: int, longest: int) -> tuple[list[VideoFrame], float]:
    """Read some frames of an animation, evenly spread, and its seconds.

    None of a single picture, nor of a broken or a very long animation.
    """
    try:
        with ignore_warnings():
            return _read_frames(photo_decoding.open_header(data, most_pixels), longest)
    except BROKEN:
        return [], 0.0


def _read_frames(image: Image.Image, longest: int) -> tuple[list[VideoFrame], float]:
    count: int = getattr(image, "n_frames", 1) if image.format in ANIMATED else 1
    if count < 2 or count * image.width * image.height > MOST_PIXELS:
        return [], 0.0
    chosen = {count * part // MOST_FRAMES for part in range(MOST_FRAMES)}
    frames, second = list[VideoFrame](), 0.0
    for number in range(count):
        image.seek(number)
        image.load()
        if number in chosen:
            pixels = np.array(flatten(image.copy(), longest, 1))
            frames.append(VideoFrame(Decoded(pixels), round(second, 2)))
        second += max(0.0, float(image.info.get("duration", 0))) / 1000
    return frames, round(second, 2)
