"""Options of several training commands, and messages for mistakes."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from models import extras

if TYPE_CHECKING:
    from training.data.corpus import Corpus
    from training.data.entities import GroundTruth
    from training.runs.folder import Reporter
    from training.runs.loop import EpochRecord

RUNS = Path("runs")
FEATURES = Path(".tessera/features")
CHECKPOINT = ".safetensors"

Data = Annotated[Path, typer.Option(help="Folder, .json or .jsonl of photos and sentences.")]
Images = Annotated[
    Path | None, typer.Option(help="Folder of the photos, if it is not next to the data.")
]
Labels = Annotated[
    Path | None,
    typer.Option(help="Folder or .jsonl of photos with complete `labels`, to learn from as well."),
]
Runs = Annotated[Path, typer.Option(help="Folder of the runs.")]
Cache = Annotated[Path, typer.Option(help="Folder of frozen features.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …")]
Parser = Annotated[
    str | None,
    typer.Option(
        envvar="TESSERA_PARSER",
        help="The spaCy pipeline of trees: a folder, or an installed package.",
        show_default="ours",
    ),
]
Photos = Annotated[
    int | None, typer.Option(min=4, help="Learn the first photos of train alone, for a short try.")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Resume an interrupted run; give the same options.")
]
TrueBoxes = Annotated[
    Path | None,
    typer.Option(help="File of true boxes.", show_default="entities.json.gz next to the data"),
]


def refuse_state(value: Path | list[Path] | None) -> Path | list[Path] | None:
    """Refuse a run's folder or last.pt, and name its checkpoint."""
    for path in value if isinstance(value, list) else [value] if value else []:
        is_state = path.suffix == ".pt"
        run = path.parent if is_state else path  # of a matcher, or with the name of a part's file
        is_part = run.suffix == ".run"
        model = run.with_suffix(".safetensors") if is_part else run / "matcher.safetensors"
        if is_state or model.is_file():
            raise typer.BadParameter(f"{path} is no checkpoint; the model is {model}")
    return value


def refuse_other_ending(value: Path | None) -> Path | None:
    """Refuse a checkpoint to write without the ending .safetensors."""
    if value and value.suffix != CHECKPOINT:
        raise typer.BadParameter(f"{value} does not end in {CHECKPOINT}")
    return value


def require_checkpoint_or_folder(value: Path | None) -> Path | None:
    """Refuse a file without the ending .safetensors; a folder is taken."""
    return value if value and value.is_dir() else refuse_other_ending(value)


File = Annotated[
    Path,
    typer.Argument(metavar="CHECKPOINT", help="A .safetensors file.", callback=refuse_state),
]
CheckpointOut = Annotated[
    Path, typer.Argument(help="The .safetensors file to write.", callback=refuse_other_ending)
]
ChangedOut = Annotated[
    Path | None,
    typer.Option(
        help="The checkpoint to write.",
        show_default="CHECKPOINT itself",
        callback=refuse_other_ending,
    ),
]
NewCheckpoint = Annotated[
    Path,
    typer.Option("--out", help="The .safetensors file to write.", callback=refuse_other_ending),
]
Numbers = Annotated[Path | None, typer.Option("--json", help="Write the numbers.")]


@contextmanager
def plain_errors(
    console: Console, parser: str | None = None, device: str | None = None
) -> Iterator[None]:
    """Choose the parser and the runtime of networks, and print mistakes.

    A mistake is one line, and exit code 1. On a CPU the runtime is a service's.
    """
    try:
        if parser:
            from models.text import parsing

            parsing.choose(parser)
        if device:
            refuse_absent(device)
        if device == "cpu":
            from models.vision import backbones

            backbones.choose_inference(os.environ.get("TESSERA_INFERENCE", "auto"))
        yield
    except (ValueError, LookupError, ArithmeticError, OSError, ModuleNotFoundError) as mistake:
        explained = explain(mistake)
        if explained is None:
            raise
        console.print(f"error: {explained}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(1) from mistake


def explain(mistake: Exception) -> str | None:
    """Explain a mistake in a line; None for a fault of ours."""
    if isinstance(mistake, ModuleNotFoundError):
        return extras.explain(mistake)
    if isinstance(mistake, OSError) and not isinstance(mistake, ChildProcessError):
        if mistake.errno == errno.EPIPE:  # it ends `tessera … | head` in silence
            return None
        if mistake.errno is None:  # such as PIL's, of an unreadable photo
            return str(mistake) or None
        return ": ".join(str(part) for part in (mistake.filename, mistake.strerror) if part)
    return str(mistake)


def refuse_absent(device: str) -> None:
    """Raise ValueError for a device unknown to this machine."""
    import torch

    count = torch.cuda.device_count()
    devices = ["cpu", *["cuda"][:count], *(f"cuda:{number}" for number in range(count))]
    if torch.backends.mps.is_available():
        devices.append("mps")
    if device not in devices:
        raise ValueError(f"there is no device {device!r} here: use {' or '.join(devices)}")


def refuse_crowded(workers: int, device: str) -> None:
    """Raise ValueError for several workers without a GPU each."""
    import torch

    count = torch.cuda.device_count()
    gpus = count if device == "cuda" else 1
    if device != "cpu" and 0 < gpus < workers:  # an absent device is refused later
        all_gpus = "--device cuda, " if workers <= count else ""
        raise ValueError(
            f"--workers {workers} needs a GPU for each, and --device {device} has {gpus}: use "
            f"{all_gpus}--workers {gpus}, or --device cpu"
        )


def read_described(console: Console, data: Path, images: Path | None) -> Corpus:
    """Read photos with sentences, and report the number of others."""
    from training.data import readers as folders

    corpus = folders.read(data, images)
    if corpus.undescribed:
        photos, are = ("photo", "is") if corpus.undescribed == 1 else ("photos", "are")
        console.print(f"{corpus.undescribed:,} {photos} without sentences {are} left out")
    return corpus


def report_shared(console: Console, corpus: Corpus) -> Corpus:
    """Report the photos of val and test in train; return the corpus."""
    from training.data import learned

    if shared := learned.find_shared(corpus):
        console.print(learned.describe_shared(shared), markup=False, soft_wrap=True)
    return corpus


def add_labels(corpus: Corpus, file: Path | None) -> Corpus:
    """Add the photos with labels of a file, if there is one."""
    from training.data import labels

    if file is None:
        return corpus
    return labels.join(corpus, labels.read(file), file.resolve().stem)


def find_boxes(data: Path, boxes: Path | None) -> Path | None:
    """Find the file of true boxes.

    The given one, or the one next to the data.
    """
    from training.data import entities

    return boxes or entities.find(data if data.is_dir() else data.parent)


def make_reporter(console: Console) -> Reporter:
    """Reports each epoch on a console."""
    from training.runs import progress
    from training.runs.folder import Reporter

    return Reporter(
        progress.on(console),
        lambda record: console.print(f"epoch {record.epoch:3}  loss {record.loss:.3f}"),
    )


def read_boxes(data: Path, boxes: Path | None) -> GroundTruth:
    """Read the true boxes of a corpus; LookupError without any."""
    from training.data import entities

    file = find_boxes(data, boxes)
    if file is None:
        raise LookupError(f"no {' or '.join(entities.FILES)} next to {data}; give one by --boxes")
    return entities.read(file)


def format_epoch(record: EpochRecord) -> str:
    """An epoch in a line."""
    annotation, search = record.validation["annotation"], record.validation["search"]
    return (
        f"epoch {record.epoch:3}  loss {record.loss:9.3f}  "
        f"R@1 {annotation['recall_1']:5.1f} {search['recall_1']:5.1f}  "
        f"sum {record.recall_sum:6.1f}  {record.seconds:.0f} s"
    )
