"""A tiny ColPali that learned to find pages by their words.

    python -m benchmarks.models.reading_retrievers FOLDER

A page has a square of rows of words, drawn by Pillow's font and of one topic for the most part; a
query has some of a page's words. So patches differ as far as what is drawn in them does.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.random import Generator, default_rng
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor, nn

from benchmarks.models.tiny_retrievers import PATCH, colpali
from models.scores.scoring import SCORES
from models.types import PaddedBags
from training.runs.progress import Progress, silent

SIDE, WIDTH, DIMENSION = 12 * PATCH, 64, 64
ROWS, COLUMNS = 12, 6  # of words on a page; a word covers two patches
TOPICS, TOPICAL = 30, 0.8  # and the share of a page's words that are of its topic
FILLED = 0.7  # share of places with a word
ASKED = 3  # words of a query
BATCH, STEPS, RATE = 16, 1_200, 3e-3
SCALE, SHARPNESS = 8.0, 12.0  # of logits: of photos for each of ASKED words, of patches


@dataclass(frozen=True, slots=True)
class Page:
    """Words by row and column; an empty one for none."""

    words: tuple[tuple[str, ...], ...]

    def draw(self) -> Image.Image:
        """Draw the words, dark on white."""
        image = Image.new("RGB", (SIDE, SIDE), "white")
        pen, font = ImageDraw.Draw(image), ImageFont.load_default_imagefont()
        for row, line in enumerate(self.words):
            for column, word in enumerate(line):
                pen.text((column * 2 * PATCH, row * PATCH), word, "black", font)
        return image

    def ask(self, random: Generator) -> str:
        """A query of some words of the page."""
        words = sorted({word for line in self.words for word in line if word})
        return " ".join(random.choice(words, ASKED, replace=False).tolist())


def list_words() -> list[str]:
    """Words of two syllables; each topic has as many neighbours of the list."""
    syllables = [first + second for first in "bdfgklmnprst" for second in "aiou"]
    words = [first + second for first in syllables for second in syllables if first != second]
    shuffled: list[str] = default_rng(0).permutation(words)[: 20 * TOPICS].tolist()
    return shuffled


def make_page(words: Sequence[str], random: Generator) -> Page:
    """Make a page of a topic."""
    each = len(words) // TOPICS
    topic = random.integers(TOPICS) * each + random.integers(each, size=(ROWS, COLUMNS))
    other = random.integers(len(words), size=(ROWS, COLUMNS))
    chosen = np.where(random.random((ROWS, COLUMNS)) < TOPICAL, topic, other)
    drawn = random.random((ROWS, COLUMNS)) < FILLED
    lines = zip(chosen.tolist(), drawn.tolist(), strict=True)
    return Page(
        tuple(
            tuple(words[word] if shown else "" for word, shown in zip(*line, strict=True))
            for line in lines
        )
    )


def train(folder: Path, steps: int = STEPS, seed: int = 0, progress: Progress = silent) -> None:
    """Train a retriever to find pages by queries among a batch's, and save it."""
    torch.manual_seed(seed)
    random, words = default_rng(seed), list_words()
    model, processor = colpali([f" {word}" for word in words], SIDE, WIDTH, DIMENSION)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps, pct_start=0.1)
    model.train()
    for _ in progress(range(steps), steps, "steps"):
        pages = [make_page(words, random) for _ in range(BATCH)]
        asked = [page.ask(random) for page in pages]
        loss = compare(model, processor, pages, asked)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call] # torch's
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rates.step()
    model.eval().save_pretrained(folder)
    processor.save_pretrained(folder)


def compare(model: Any, processor: Any, pages: Sequence[Page], asked: Sequence[str]) -> Tensor:
    """Cross entropy of each query's MaxSim with a batch's pages, and of words with patches.

    The latter knows where words are: MaxSim alone learns little from nothing.
    """
    photos = processor.process_images(images=[page.draw() for page in pages])
    del photos["labels"]
    is_patch = photos["input_ids"] == processor.image_token_id
    seen = PaddedBags(model(**photos).embeddings, photos["attention_mask"].bool())
    read = embed_texts(model, processor, asked)
    scores = SCORES["max_sim"](seen, read)  # (K, L)
    words = sorted({word for text in asked for word in text.split()})
    means = means_of(embed_texts(model, processor, words))  # (W, D)
    products = SHARPNESS * means @ seen.vectors[is_patch].T  # (W, P)
    shown = np.array([page.words for page in pages]).repeat(2, axis=2).reshape(-1)  # (P,)
    true = torch.from_numpy(np.array(words)[:, None] == shown)
    every = products.logsumexp(1)
    near = products.masked_fill(~true, -torch.inf).logsumexp(1)
    photo = nn.functional.cross_entropy(SCALE * scores.T / ASKED, torch.arange(len(pages)))
    return photo + (every - near).mean()


def embed_texts(model: Any, processor: Any, texts: Sequence[str]) -> PaddedBags:
    """Embed texts as queries."""
    inputs = processor.process_queries(text=list(texts))
    return PaddedBags(model(**inputs).embeddings, inputs["attention_mask"].bool())


def means_of(bags: PaddedBags) -> Tensor:
    """The means (L, D) of texts' tokens, of length one."""
    sums = (bags.vectors * bags.mask[..., None]).sum(1)
    return nn.functional.normalize(sums, dim=-1)


@torch.inference_mode()
def embed_pages(folder: Path, pages: int, queries: int, seed: int = 1) -> tuple[Tensor, Tensor]:
    """The patches (K, P, D) of new pages, and queries (L, T, D) of the first of them.

    By a trained retriever. Padding of queries counts, as all of them have as many tokens.
    """
    from transformers import ColPaliForRetrieval, ColPaliProcessor

    model: Any = ColPaliForRetrieval.from_pretrained(folder)
    processor: Any = ColPaliProcessor.from_pretrained(folder)
    random, words = default_rng(seed), list_words()
    made = [make_page(words, random) for _ in range(pages)]
    patches = []
    for at in range(0, pages, BATCH):
        photos = processor.process_images(images=[page.draw() for page in made[at : at + BATCH]])
        del photos["labels"]
        is_patch = photos["input_ids"] == processor.image_token_id
        vectors = model.eval()(**photos).embeddings
        patches.append(vectors[is_patch].reshape(len(vectors), -1, vectors.shape[2]))
    read = embed_texts(model, processor, [page.ask(random) for page in made[:queries]])
    return torch.cat(patches), read.vectors


def main() -> None:
    """Train, and print the loss of other pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=STEPS)
    arguments = parser.parse_args()
    train(arguments.folder, arguments.steps)


if __name__ == "__main__":
    main()
