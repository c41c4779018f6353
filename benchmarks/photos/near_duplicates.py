"""Near-duplicates: cosines of copies and of different photos, and groups by thresholds.

    python -m benchmarks.photos.near_duplicates flickr8k/images
    python -m benchmarks.photos.near_duplicates --made 100000

Of --copied photos of a folder, copies are made: the same file, saved again, smaller, brighter,
cut, and grey. All others of its --photos are taken for different ones, which some folders belie:
the most alike are named, to be looked at. Prints precision and recall of pairs in the same group.
With --made instead of a folder, made vectors are grouped, a tenth of them copies, and timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from itertools import count
from pathlib import Path
from random import Random
from time import process_time

import numpy as np
import torch
from PIL import Image, ImageEnhance

from index.photos.series import Alike, Photos, regroup
from index.segments.neighbours import RowVectors
from index.segments.rows import of_vectors
from models import checkpoint, shipped
from models.scores.kernels import Floats
from models.scores.scoring import score_named
from models.vision.images import decode

PHOTOS = (".jpg", ".jpeg", ".png", ".webp")
THRESHOLDS = (0.88, 0.90, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97)
NAMED = 10  # most alike pairs of different photos
TOGETHER = 4  # photos of a batch
WIDTH = 256  # numbers of a made vector


def cut(share: float) -> Callable[[Image.Image], Image.Image]:
    """Cut off a share of each side."""

    def make(image: Image.Image) -> Image.Image:
        across, down = round(share * image.width), round(share * image.height)
        return image.crop((across, down, image.width - across, image.height - down))

    return make


COPIES: dict[str, Callable[[Image.Image], Image.Image]] = {
    "saved again": lambda image: image,
    "half as large": lambda image: image.resize((image.width // 2, image.height // 2)),
    "brighter": lambda image: ImageEnhance.Brightness(image).enhance(1.3),
    "cut by 5 % a side": cut(0.05),
    "cut by 10 % a side": cut(0.1),
    "grey": lambda image: image.convert("L").convert("RGB"),
}


def copy(data: bytes, change: Callable[[Image.Image], Image.Image]) -> bytes:
    """Make a changed copy of a photo as a JPEG."""
    file = BytesIO()
    change(Image.open(BytesIO(data)).convert("RGB")).save(file, "JPEG", quality=60)
    return file.getvalue()


def embed(files: Sequence[bytes], model: Path) -> Floats:
    """Embed photos: the summaries (N, D) of a checkpoint."""
    matcher = checkpoint.load(model).model
    score, summaries = score_named(matcher.score), list[Floats]()
    for start in range(0, len(files), TOGETHER):
        pixels = [decode(data).pixels for data in files[start : start + TOGETHER]]
        for bag in matcher.embed_images(pixels):
            vectors = bag.vectors.detach().cpu().numpy()
            summaries.append(score.image_summary(vectors, np.zeros(1, np.int64))[0])
    return np.stack(summaries)


def group(summaries: Floats, files: Sequence[bytes], least: float) -> list[str | None]:
    """Group photos by a cosine; the series of each."""
    size, sum_of_max = len(files), score_named("sum_of_max")
    rows = of_vectors(
        [summary[None] for summary in summaries],
        range(1, size + 1),
        [-1] * size,
        "images",
        sum_of_max,
        summaries.shape[1],
    )
    names = count()
    photos = Photos(
        digests=[(sha256(data).hexdigest(),) for data in files],
        times=np.full(size, np.nan),
        series=[None] * size,
        new=np.arange(size),
        places=np.arange(size),
        vectors=RowVectors([(rows, np.arange(size))]),
    )
    changed = regroup(photos, lambda: f"{next(names)}", Alike(copies=least))
    return [changed.get(number) for number in range(size)]


def measure(series: Sequence[str | None], owners: Sequence[int]) -> tuple[float, float, int]:
    """Return precision and recall of pairs in a series, and wrong pairs."""
    pairs = [
        (series[a] is not None and series[a] == series[b], owners[a] == owners[b])
        for a in range(len(owners))
        for b in range(a)
    ]
    right = sum(found and alike for found, alike in pairs)
    found, alike = (sum(column) for column in zip(*pairs, strict=True))
    return right / max(found, 1), right / max(alike, 1), found - right


def print_cosines(summaries: Floats, kinds: Sequence[str], owners: Sequence[int]) -> None:
    """Print quantiles of the cosines of copies with their photos."""
    unit = summaries / np.linalg.norm(summaries, axis=1, keepdims=True)
    for kind in dict.fromkeys(kinds):
        if kind:
            of_kind = [at for at, name in enumerate(kinds) if name == kind]
            cosines = [float(unit[at] @ unit[owners[at]]) for at in of_kind]
            low, tenth, middle = np.quantile(cosines, [0, 0.1, 0.5])
            print(f"{kind:20} least {low:.3f}, tenth {tenth:.3f}, median {middle:.3f}")


def print_different(summaries: Floats, files: Sequence[Path]) -> None:
    """Print the cosines of different photos."""
    unit = summaries[: len(files)] / np.linalg.norm(summaries[: len(files)], axis=1, keepdims=True)
    first, second = np.triu_indices(len(files), 1)
    cosines = (unit @ unit.T)[first, second]
    counts = ", ".join(f"{t}: {int((cosines >= t).sum())}" for t in THRESHOLDS)
    print(f"{len(cosines):,} pairs of different photos; as alike as {counts}")
    for at in np.argsort(-cosines)[:NAMED]:
        print(f"  {cosines[at]:.3f} {files[first[at]].name} {files[second[at]].name}")


def time_made(size: int) -> None:
    """Group made vectors, then ten new ones, and print the times."""
    generator = np.random.default_rng(1)
    vectors = generator.standard_normal((size, WIDTH)).astype(np.float32)
    copied = size // 10
    noise = generator.standard_normal((copied, WIDTH)).astype(np.float32)
    vectors[size - copied :] = vectors[:copied] + 0.3 * noise
    rows = of_vectors(
        list(vectors[:, None]), range(size), [-1] * size, "images", score_named("sum_of_max"), WIDTH
    )
    photos = Photos(
        digests=[(f"{number}",) for number in range(size)],
        times=np.arange(size, dtype=np.float64),
        series=[None] * size,
        new=np.arange(size),
        places=np.arange(size),
        vectors=RowVectors([(rows, np.arange(size))]),
    )
    names, began = count(), process_time()
    changed = regroup(photos, lambda: f"{next(names)}", Alike())
    took = process_time() - began
    series = [changed.get(number) for number in range(size)]
    right = sum(
        series[number] is not None and series[number] == series[size - copied + number]
        for number in range(copied)
    )
    print(f"{size:,} made photos: {right:,} of {copied:,} copies with their photo, {took:.1f} s")
    began = process_time()
    again = regroup(
        replace(photos, series=series, new=np.arange(size - 10, size)), lambda: "new", Alike()
    )
    took = process_time() - began
    print(f"the last ten compared again: {len(again)} changes, {took:.2f} s of a processor")


def main() -> None:
    """Make copies, embed all, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--made", type=int, help="vectors that are made instead")
    parser.add_argument("--photos", type=int, default=400)
    parser.add_argument("--copied", type=int, default=60)
    parser.add_argument("--model", type=Path, default=shipped.MATCHER)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.made:
        time_made(options.made)
        return
    if options.folder is None:
        parser.error("name a folder of photos, or --made COUNT")
    paths = sorted(file for file in options.folder.rglob("*") if file.suffix.lower() in PHOTOS)
    Random(1).shuffle(paths)
    paths = paths[: options.photos]
    files, kinds = [path.read_bytes() for path in paths], [""] * len(paths)
    owners = list(range(len(paths)))
    for number in range(min(options.copied, len(paths))):
        for kind, change in {"": None, **COPIES}.items():
            files.append(copy(files[number], change) if change else files[number])
            kinds.append(kind or "same file")
            owners.append(number)
    summaries = embed(files, options.model)
    print(f"{options.model.name}: {len(paths)} photos, {len(files) - len(paths)} copies")
    print_cosines(summaries, kinds, owners)
    print_different(summaries, paths)
    for least in THRESHOLDS:
        precision, recall, wrong = measure(group(summaries, files, least), owners)
        print(
            f"at {least:.2f}: precision {precision:.3f}, recall {recall:.3f}, {wrong} wrong pairs"
        )


if __name__ == "__main__":
    main()
