"""Reference photos and sentences, for probabilities without captions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from models import checkpoint
from models.checkpoint import Checkpoint
from models.registry import Matcher
from models.text.classes import names, naming_texts
from models.types import FragmentBag
from training.evaluation import embedding
from training.matchers.probabilities.unlabelled import calibrate_unlabelled
from training.runs.progress import Progress

SAMPLE = Path(__file__).parents[2] / "app" / "demos" / "photos"  # of the page's demonstration
MOST = 2000  # photos of one's own
NAMED = 100  # sentences of a class's name
STEP, APART = 10, 497  # between classes that are named, and between those of one sentence
ENDINGS = (".jpg", ".jpeg", ".png", ".webp")


def list_sample() -> list[Path]:
    """List the sample photos."""
    return [SAMPLE / row["image"] for row in _read_rows("items")]


def list_photos(folder: Path) -> list[Path]:
    """List up to MOST photos of a folder; LookupError without one."""
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS)
    if not found:
        raise LookupError(f"{folder} has no photo ({', '.join(ENDINGS)})")
    return found[:: -(-len(found) // MOST)]


def list_sentences() -> list[str]:
    """List sentences: the sample's examples, and names of ImageNet's classes."""
    classes = [levels[0][0] for levels in names()]
    alone = classes[3::STEP]
    pairs = [f"a {name} next to a {classes[k - APART]}" for k, name in enumerate(classes)][5::STEP]
    return [row["text"] for row in _read_rows("examples")] + naming_texts(NAMED) + alone + pairs


def calibrate(
    loaded: Checkpoint, file: Path, out: Path, photos: Path | None, progress: Progress
) -> list[str]:
    """Write a matcher with estimated probabilities; return lines about them.

    `photos` is a folder of photos like those to search. LookupError where it has none.
    """
    paths = list_sample() + ([] if photos is None else list_photos(photos))
    bags, unread = embed_readable(loaded.model, paths, progress)
    texts = list_sentences()
    sentences = embedding.embed(loaded.model.embed_sentences, texts, progress, "sentences")
    checkpoint.calibrate(file, out, calibrate_unlabelled(loaded.model, bags, sentences))
    left_out = f" ({unread} could not be read)" if unread else ""
    return [
        f"probabilities are estimated from {len(bags)} photos without captions{left_out}: "
        "`tessera calibrate --data` measures them on photos with captions"
    ]


def calibrate_once(file: Path, photos: Path | None, progress: Progress) -> list[str]:
    """Estimate a matcher's probabilities as `calibrate` does, unless it has some."""
    loaded = checkpoint.load(file)
    return calibrate(loaded, file, file, photos, progress) if loaded.calibration is None else []


def embed_readable(
    matcher: Matcher, paths: Sequence[Path], progress: Progress
) -> tuple[list[FragmentBag], int]:
    """Embed the readable photos; also count the others."""
    bags, unread = list[FragmentBag](), 0
    starts = range(0, len(paths), embedding.BATCH)
    for at in progress(starts, len(starts), "reference photos"):
        pixels = []
        for path in paths[at : at + embedding.BATCH]:
            try:
                pixels.append(embedding.read_pixels(path))
            except (ValueError, OSError):
                unread += 1
        if pixels:
            bags += matcher.embed_images(pixels)
    return bags, unread


def _read_rows(name: str) -> list[dict[str, str]]:
    lines = (SAMPLE / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]
