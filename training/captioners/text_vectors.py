"""Texts for a captioner's language, and their vectors.

The vectors are in a matcher's joint space.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from models.captioners.attentive import text_vectors
from models.checkpoint import Checkpoint
from training.captioners import text_sources as text
from training.captioners.preset import TextOptions
from training.captioners.vocabulary import caption_words
from training.data.corpus import Corpus
from training.data.digests import digest
from training.runs.cache import load_or_compute
from training.runs.precision import half_precision
from training.runs.progress import Progress


def gather_sentences(corpus: Corpus, options: TextOptions | None, file: Path | None) -> list[str]:
    """Gather the sentences for a captioner's language: train's, and with text more.

    More sentences are the lines of a file that no other split has, and names of classes.
    """
    train_sentences = [
        sentence for example in corpus.split("train") for sentence in example.sentences
    ]
    if options is None:
        return train_sentences
    texts = text.drop_held_out([*train_sentences, *(text.read_lines(file) if file else ())], corpus)
    texts = list(dict.fromkeys(texts))
    if not options.names:
        return texts
    words = {word for sentence in texts for word in caption_words(sentence)}
    return texts + text.name_classes(words)


def embed_texts(
    loaded: Checkpoint, texts: Sequence[str], folder: Path, precision: str, progress: Progress
) -> Tensor:
    """Embed texts (N, D) with length one in a joint space, through the cache."""
    joint = loaded.model.image.config.embedding

    def joint_vectors(batch: Sequence[str]) -> list[Tensor]:
        with half_precision("cpu", precision):
            return list(text_vectors(loaded.model, batch, joint)[:, None])

    rows = load_or_compute(
        folder / "texts",
        f"{precision} joint {loaded.fingerprint}",
        list(texts),
        [digest(sentence) for sentence in texts],
        joint_vectors,
        progress,
        "texts",
    )
    return F.normalize(torch.cat(list(rows)), dim=-1)
