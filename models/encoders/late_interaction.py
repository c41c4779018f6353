"""Retrievers by late interaction: token vectors of photos and of texts (ColPali and others).

A photo's tokens are its patches and those of a prompt, a text's are its own between a prefix and
further marks. Their score is MaxSim, the sum over the text's tokens of the best token of the photo
(Khattab & Zaharia 2020, section 3.4; Faysse et al. 2024, section 4.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from math import isqrt
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar
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

TOGETHER = 4  # photos of a pass: each has up to a thousand tokens in a network of billions
AUGMENTED = 10  # marks behind a query, as in every family's processor
TokenPlace = tuple[str, Span]  # a token as it is written, and where it is in the text
CUTS = 6  # most rows, and columns, of squares that ColModernVBERT cuts a photo into


class Retriever(nn.Module, ABC):
    """A frozen retriever: photos and texts to unit vectors of tokens."""

    network_class: ClassVar[str]  # of transformers
    has_types = False  # whether the network wants types of tokens

    def __init__(self, folder: Path, precision: str) -> None:
        super().__init__()
        self.processor = layout(folder).processor()
        if not self.processor.tokenizer.is_fast:
            raise ValueError(f"the tokenizer of {folder} does not tell where its tokens are")
        self.network: Any = half(getattr(transformers(), self.network_class), folder, precision)
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
            made = self.process(images)
        return {name: value for name, value in made.items() if name != "labels"}

    def process(self, images: Sequence[Tensor]) -> Mapping[str, Tensor]:
        """Process photos by the processor of the folder, in turn."""
        made: Mapping[str, Tensor] = self.processor.process_images(images=list(images))
        return made

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
                return_token_type_ids=self.has_types,
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
        return self.processor.query_prefix, self.processor.query_augmentation_token * AUGMENTED

    def embed(self, inputs: dict[str, Tensor]) -> Tensor:
        """Unit vectors (B, T, D) of all tokens, single precision."""
        device = self.network.device
        placed = {name: value.to(device) for name, value in inputs.items()}
        vectors: Tensor = self.network(**placed).embeddings.float()
        return vectors.cpu()

    @abstractmethod
    def place_patches(self, inputs: dict[str, Tensor], row: int) -> list[list[float]]:
        """The boxes of a photo's patches, in the order of its tokens."""


class ColPali(Retriever):
    """ColPali: photos are squashed to a square."""

    network_class = "ColPaliForRetrieval"
    has_types = True

    def around(self) -> tuple[str, str]:
        """See Retriever."""
        prefix, marks = super().around()
        return self.processor.tokenizer.bos_token + prefix, f"{marks}\n"

    def place_patches(self, inputs: dict[str, Tensor], row: int) -> list[list[float]]:
        """See Retriever."""
        count = int((inputs["input_ids"][row] == self.processor.image_token_id).sum())
        return list_boxes(WHOLE_FRAME, isqrt(count), isqrt(count))


class ColQwen2(Retriever):
    """ColQwen2: photos keep their shape."""

    network_class = "ColQwen2ForRetrieval"

    def around(self) -> tuple[str, str]:
        """See Retriever."""
        prefix, marks = super().around()
        return prefix, f"{marks}\n"

    def place_patches(self, inputs: dict[str, Tensor], row: int) -> list[list[float]]:
        """See Retriever."""
        _, tall, wide = inputs["image_grid_thw"][row].tolist()
        merged = self.processor.image_processor.merge_size
        return list_boxes(WHOLE_FRAME, tall // merged, wide // merged)


class ColModernVBert(Retriever):
    """ColModernVBERT: photos are cut into squares, and seen whole as well."""

    network_class = "ColModernVBertForRetrieval"

    def process(self, images: Sequence[Tensor]) -> Mapping[str, Tensor]:
        """See Retriever."""
        prompts = [self.processor.visual_prompt_prefix] * len(images)
        made: Mapping[str, Tensor] = self.processor(
            text=prompts, images=[[image] for image in images], return_tensors="pt"
        )
        return made

    def place_patches(self, inputs: dict[str, Tensor], row: int) -> list[list[float]]:
        """See Retriever."""
        side, cuts = isqrt(self.processor.image_seq_len), self.place_cuts(inputs["input_ids"][row])
        return [box for part in cuts for box in list_boxes(part, side, side)]

    def place_cuts(self, ids: Tensor) -> list[Box]:
        """The squares of a photo, the whole one last."""
        numbers = {number: at for at, number in enumerate(self.processor.row_col_ids)}
        cuts = [divmod(numbers[number], CUTS) for number in ids.tolist() if number in numbers]
        rows = max((row for row, _ in cuts), default=0) + 1
        columns = max((column for _, column in cuts), default=0) + 1
        return [
            *(part_of(WHOLE_FRAME, row, column, rows, columns) for row, column in cuts),
            WHOLE_FRAME,
        ]


# By model_type.
KINDS: Mapping[str, type[Retriever]] = {
    "colmodernvbert": ColModernVBert,
    "colpali": ColPali,
    "colqwen2": ColQwen2,
}
shared: WeakValueDictionary[tuple[Any, ...], Retriever] = WeakValueDictionary()
loading = Lock()


def load(source: EncoderSource, precision: str) -> Retriever:
    """The retriever of a source, once in memory for both towers."""
    folder = source.check()
    key = source.folder, source.files, precision
    with loading:
        retriever = shared.get(key)
        if retriever is None:
            kind = KINDS[layout(folder).config()["model_type"]]
            retriever = shared[key] = kind(folder, precision)
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
