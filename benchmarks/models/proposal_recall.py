"""Recall of sentences' things in fixed windows, EdgeBoxes and selective search.

For learned boxes, `tessera evaluate` their checkpoint. EdgeBoxes (Zitnick & Dollar 2014) and
selective search (Uijlings et al. 2013) are OpenCV's. The edges of EdgeBoxes are Canny's, since
OpenCV ships no trained edge detector. Each method's recall is a line of the file that `tessera
report` reads.

    pip install opencv-contrib-python-headless
    python -m benchmarks.models.proposal_recall flickr8k/
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import torch
from PIL import Image
from rich.progress import track
from torch import Tensor

from models.vision.proposals import REGIONS, Windows
from training.data import entities
from training.data import readers as folders
from training.data.entities import phrase_boxes
from training.evaluation.proposals import recalls
from training.report import measurements

SHORTER = 200  # pixels of a photo's shorter side that the methods see
FRAME = torch.tensor([[0.0, 0.0, 1.0, 1.0]])

Method = Callable[[np.ndarray], Tensor]  # an RGB photo (H, W, 3) to boxes (R, 4), likeliest first


def windows(photo: np.ndarray) -> Tensor:  # noqa: ARG001 - blind
    """The twenty fixed windows."""
    return Windows().boxes


def edge_boxes(photo: np.ndarray) -> Tensor:
    """Boxes around many whole contours."""
    grey = cv2.GaussianBlur(cv2.cvtColor(photo, cv2.COLOR_RGB2GRAY), (3, 3), 0)
    across, down = (cv2.Scharr(grey, cv2.CV_32F, *way) for way in ((1, 0), (0, 1)))
    strength = np.hypot(across, down)
    thin = cv2.Canny(grey, 40, 120) > 0
    edges = np.where(thin, strength / max(float(strength.max()), 1.0), 0).astype(np.float32)
    orientation = np.mod(np.arctan2(down, across), np.pi).astype(np.float32)
    finder = cv2.ximgproc.createEdgeBoxes(maxBoxes=REGIONS - 1)
    return add_frame(np.array(finder.getBoundingBoxes(edges, orientation)[0]), photo)


def selective_search(photo: np.ndarray) -> Tensor:
    """Boxes around merged similar regions, in OpenCV's order."""
    finder = cv2.ximgproc.segmentation.createSelectiveSearchSegmentation()
    finder.setBaseImage(np.ascontiguousarray(photo[..., ::-1]))
    finder.switchToSelectiveSearchFast()
    return add_frame(finder.process()[: REGIONS - 1], photo)


def add_frame(boxes: np.ndarray, photo: np.ndarray) -> Tensor:
    """The frame, then boxes from left, top, width and height in pixels."""
    height, width = photo.shape[:2]
    left, top, across, down = boxes.reshape(-1, 4).T.astype(np.float32)
    corners = [left / width, top / height, (left + across) / width, (top + down) / height]
    return torch.cat([FRAME, torch.from_numpy(np.stack(corners, axis=1))])


METHODS: dict[str, Method] = {
    "windows": windows,
    "EdgeBoxes": edge_boxes,
    "selective search": selective_search,
}


def read_photo(path: Path) -> np.ndarray:
    """A photo as RGB (H, W, 3), its shorter side of SHORTER pixels."""
    photo = Image.open(path).convert("RGB")
    scale = SHORTER / min(photo.size)
    return np.asarray(photo.resize([round(side * scale) for side in photo.size]))


def main() -> None:
    """Measure every method on split val."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("data", type=Path, help="folder of Flickr8k with entities.json.gz")
    options.add_argument("--out", type=Path, default=measurements.FILE)
    chosen = options.parse_args()
    cv2.setNumThreads(1)
    cv2.setRNGSeed(0)  # selective search breaks ties at random
    spoken = entities.read(chosen.data / "entities.json.gz")
    examples = [
        example
        for example in folders.read(chosen.data, None).split("val")
        if any(sentence.phrases for sentence in spoken.get(example.image.name, ()))
    ]
    truth = [phrase_boxes(spoken[example.image.name]) for example in examples]
    for name, method in METHODS.items():
        boxes = [method(read_photo(example.image)) for example in track(examples, name)]
        shares = recalls(boxes, truth)
        source = f"OpenCV {cv2.__version__}" if method is not windows else "fixed"
        row = {"checkpoint": source, "name": name, "data": "flickr8k", "split": "val"}
        print(name, {count: round(share, 1) for count, share in shares.items()})
        run = f"proposals-{name.lower().replace(' ', '-')}-val"
        measurements.add(chosen.out, {run: row | {"recalls": shares}})


if __name__ == "__main__":
    main()
