"""Retrievers by late interaction: token vectors of photos and of texts (ColPali and others).

A photo's tokens are its patches and those of a prompt, a text's are its own between a prefix and
further marks. Their score is MaxSim, the sum over the text's tokens of the best token of the photo
(Khattab & Zaharia 2020, section 3.4; Faysse et al. 2024, section 4.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isqrt
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor, nn

from models.encoders.halves import half
from models.encoders.library import transformers
from models.encoders.modules import ScoredTokens
from models.encoders.pooling import PatchBag, pool
from models.encoders.source import EncoderSource, layout
from models.encoders.words import in_text, squeeze
from models.types import WHOLE_FRAME, WHOLE_SENTENCE, Box, ParsedSentence, Span

# The classes of transformers by model_type.
KINDS = {
    "colmodernvbert": "ColModernVBertForRetrieval",
    "colpali": "ColPaliForRetrieval",
    "colqwen2": "ColQwen2ForRetrieval",
}
TOGETHER = 4  # photos of a pass: each has up to a thousand tokens in a network of billions
AUGMENTED = 10  # marks behind a query, as in every family's processor
TokenPlace = tuple[str, Span]  # a token as it is written, and where it is in the text
CUTS = 6  # most rows, and columns, of squares that ColModernVBert cuts a photo into


class Retriever(nn.Module):
    """A frozen retriever: photos and texts to unit vectors of tokens."""

    def __init__(self, folder: Path, precision: str) -> None:
        super().__init__()
        self.kind: str = layout(folder).config()["model_type"]
        self.processor = layout(folder).processor()
        if not self.processor.tokenizer.is_fast:
            raise ValueError(f"the tokenizer of {folder} does not tell where its tokens are")
        self.network: Any = half(getattr(transformers(), KINDS[self.kind]), folder, precision)
        self.scored = ScoredTokens.of(folder, self.processor.tokenizer)
        self.turn = Lock()  # a tokenizer's padding is set by each call

    @property
    def dimension(self) -> int:
        """The numbers of a vector."""
        return int(self.network.config.embedding_dim)

    def see(self, images: Sequence[Tensor], factor: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield vectors (F, D) and boxes (F, 4) of uint8 photos (3, H, W): prompt, then patches.

        Tokens of the prompt have the whole frame as box. Patches are pooled by a factor.
        """
        for at in range(0, len(images), TOGETHER):
            inputs = self.prepare(images[at : at + TOGETHER])
            vectors = self.embed(inputs)
            scored = self.scored.of_photos(inputs["input_ids"], inputs["attention_mask"])
            for row in range(len(vectors)):
                ids = inputs["input_ids"][row]
                is_patch = ids == self.processor.image_token_id
                boxes = torch.tensor([WHOLE_FRAME.left, WHOLE_FRAME.top, 1, 1]).repeat(len(ids), 1)
                boxes[is_patch] = torch.tensor(self.place_patches(inputs, row))
                patches = pool(PatchBag.of(vectors[row], boxes, is_patch & scored[row]), factor)
                prompt = ~is_patch & scored[row]
                yield (
                    torch.cat([vectors[row][prompt], patches.vectors]),
                    torch.cat([boxes[prompt], patches.boxes]),
                )

    def prepare(self, images: Sequence[Tensor]) -> dict[str, Tensor]:
        """Inputs of the network for photos, by the processor of the folder."""
        with self.turn:
            if self.kind == "colmodernvbert":
                prompts = [self.processor.visual_prompt_prefix] * len(images)
                made = self.processor(
                    text=prompts, images=[[image] for image in images], return_tensors="pt"
                )
            else:
                made = self.processor.process_images(images=list(images))
        return {name: value for name, value in made.items() if name != "labels"}

    def read(self, sentences: Sequence[ParsedSentence]) -> list[tuple[Tensor, list[TokenPlace]]]:
        """The vectors (T, D) of each text's tokens, and their places.

        Marks and the prefix belong to the whole sentence, behind its tokens.
        """
        squeezed = [squeeze(sentence.text, lower=False) for sentence in sentences]
        before, behind = self.around()
        with self.turn:
            encoded = self.processor.tokenizer(
                [f"{before}{text}{behind}" for text, _ in squeezed],
                padding=True,
                return_offsets_mapping=True,
                return_token_type_ids=self.kind == "colpali",
                return_tensors="pt",
            )
        offsets = encoded.pop("offset_mapping").tolist()
        vectors = self.embed(dict(encoded))
        scored = self.scored.of_texts(encoded["input_ids"], encoded["attention_mask"])
        read = []
        for row, (sentence, (text, characters)) in enumerate(zip(sentences, squeezed, strict=True)):
            inside = [clip(start, end, len(before), len(text)) for start, end in offsets[row]]
            spans = in_text(inside, characters)
            places = [place_of(sentence.text, *span) for span in spans]
            order = sorted(
                scored[row].nonzero()[:, 0].tolist(),
                key=lambda at: places[at][0] == WHOLE_SENTENCE,
            )
            read.append((vectors[row][order], [places[at] for at in order]))
        return read

    def around(self) -> tuple[str, str]:
        """A query's beginning and end, as the processor writes them."""
        marks = self.processor.query_augmentation_token * AUGMENTED
        prefix = self.processor.query_prefix
        if self.kind == "colmodernvbert":
            return prefix, marks
        begin = self.processor.tokenizer.bos_token if self.kind == "colpali" else ""
        return begin + prefix, f"{marks}\n"

    def embed(self, inputs: dict[str, Tensor]) -> Tensor:
        """Unit vectors (B, T, D) of all tokens, single precision."""
        device = self.network.device
        placed = {name: value.to(device) for name, value in inputs.items()}
        vectors: Tensor = self.network(**placed).embeddings.float()
        return vectors.cpu()

    def place_patches(self, inputs: dict[str, Tensor], row: int) -> list[list[float]]:
        """The boxes of a photo's patches, in the order of its tokens."""
        ids = inputs["input_ids"][row]
        count = int((ids == self.processor.image_token_id).sum())
        if self.kind == "colqwen2":
            _, tall, wide = inputs["image_grid_thw"][row].tolist()
            merged = self.processor.image_processor.merge_size
            return list_boxes(WHOLE_FRAME, tall // merged, wide // merged)
        if self.kind == "colpali":
            return list_boxes(WHOLE_FRAME, isqrt(count), isqrt(count))
        side = isqrt(self.processor.image_seq_len)
        return [box for part in self.place_cuts(ids) for box in list_boxes(part, side, side)]

    def place_cuts(self, ids: Tensor) -> list[Box]:
        """The squares of a photo in ColModernVBert, the whole one last."""
        numbers = {number: at for at, number in enumerate(self.processor.row_col_ids)}
        cuts = [divmod(numbers[number], CUTS) for number in ids.tolist() if number in numbers]
        rows = max((row for row, _ in cuts), default=0) + 1
        columns = max((column for _, column in cuts), default=0) + 1
        return [
            *(part_of(WHOLE_FRAME, row, column, rows, columns) for row, column in cuts),
            WHOLE_FRAME,
        ]


shared: WeakValueDictionary[tuple[Any, ...], Retriever] = WeakValueDictionary()
loading = Lock()


def load(source: EncoderSource, precision: str) -> Retriever:
    """The retriever of a source, once in memory for both towers."""
    folder = source.check()
    key = source.folder, source.files, precision
    with loading:
        retriever = shared.get(key)
        if retriever is None:
            retriever = shared[key] = Retriever(folder, precision)
    return retriever


def clip(start: int, end: int, before: int, length: int) -> tuple[int, int]:
    """A token's place in a text of some length behind a prefix; (0, 0) outside.

    >>> clip(0, 3, 2, 4), clip(5, 9, 2, 4), clip(0, 2, 2, 4)
    ((0, 1), (3, 4), (0, 0))
    """
    first, last = max(start - before, 0), min(end - before, length)
    return (first, last) if first < last else (0, 0)


def place_of(text: str, start: int, end: int) -> TokenPlace:
    """The label and span of a token, without spaces around it."""
    written = text[start:end]
    if not written.strip():
        return WHOLE_SENTENCE, Span(0, len(text))
    first = start + len(written) - len(written.lstrip())
    label = written.strip()
    return label, Span(first, first + len(label))


def list_boxes(part: Box, rows: int, columns: int) -> list[list[float]]:
    """The cells of a grid over a part, row by row."""
    cells = (
        part_of(part, row, column, rows, columns)
        for row in range(rows)
        for column in range(columns)
    )
    return [[cell.left, cell.top, cell.right, cell.bottom] for cell in cells]


def part_of(part: Box, row: int, column: int, rows: int, columns: int) -> Box:
    """A cell of a grid over a part of a photo."""
    left, top = column / columns, row / rows
    return part.whole(Box(left, top, (column + 1) / columns, (row + 1) / rows))
