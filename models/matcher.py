"""What matchers of bags share: frozen inputs, trained encoders, and bags that people can read."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models import backbones
from models.parsing import parse
from models.proposals import Proposer, TorchvisionDetector, Windows
from models.regions import BATCH, RegionFeatures
from models.types import (
    WHOLE_FRAME,
    WHOLE_PHOTO,
    WHOLE_SENTENCE,
    Box,
    FragmentBag,
    PaddedBags,
    ParsedSentence,
    Span,
)

SENTENCES = 64  # sentences in one pass


class BagMatcher(nn.Module):
    """A matcher whose images are bags of windows and whose sentences are bags of spans.

    The frozen part (`image_inputs`, `sentence_inputs`) is computed once and cached while
    training; the trained part (`encode_images`, `encode_sentences`) is differentiable. A model
    brings its sentence side and both encoders. With `tuned` the CNN trains as well, so that
    `image_inputs` are computed anew at each step; batch norms keep their means.
    """

    score = "sum_of_max"
    packaged: tuple[str, ...] = ("sight.",)  # weights that installed packages bring

    def __init__(
        self,
        backbone: str,
        sizes: tuple[int, ...],
        proposer: Proposer | None = None,
        tuned: bool = False,
    ) -> None:
        super().__init__()
        network = backbones.load(backbone).requires_grad_(tuned)
        self.sight = RegionFeatures(network, network.channels, sizes)
        self.proposer = proposer or Windows()
        self.tuned = tuned
        if tuned:
            self.packaged = tuple(prefix for prefix in self.packaged if prefix != "sight.")
            if not isinstance(self.proposer, Windows | TorchvisionDetector):
                raise ValueError(
                    "learned proposals read what the frozen backbone sees: with a tuned backbone "
                    "use proposals = 'windows', or a detector of torchvision's"
                )
        if isinstance(self.proposer, nn.Module):
            self.proposer.requires_grad_(False)
        self.backbone = backbone

    def train(self, mode: bool = True) -> BagMatcher:
        """Switch dropout; frozen networks stay as they are, batch norms included."""
        super().train(mode)
        for name, module in self.named_children():
            if f"{name}.".startswith((*self.packaged, "sight.", "proposer.")):
                module.eval()
        return self

    def image_inputs(self, images: Sequence[Tensor]) -> list[Tensor]:
        """CNN features of the regions, (R, C), of each uint8 photo (3, H, W)."""
        return list(self.sight(images, self.proposer)[0])

    def image_key(self) -> str:
        """Names the frozen image part."""
        return json.dumps([self.backbone, list(self.sight.sizes), self.proposer.key()])

    def sentences(self, texts: Sequence[str]) -> list[ParsedSentence]:
        """Texts parsed as far as the fragments need it: into words, or into trees."""
        return [parse(text) for text in texts]

    def sentence_inputs(self, texts: Sequence[str]) -> list[Tensor]:
        """The frozen part of each text, (T, C)."""
        return self.frozen(self.sentences(texts))

    @abstractmethod
    def frozen(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """The frozen part of each parsed sentence, (T, C)."""

    @abstractmethod
    def sentence_key(self) -> str:
        """Names the frozen sentence part."""

    @abstractmethod
    def encode_images(self, inputs: PaddedBags) -> PaddedBags:
        """Fragments (K, R, D) of inputs (K, R, C)."""

    @abstractmethod
    def encode_sentences(self, inputs: PaddedBags) -> PaddedBags:
        """Fragments (L, F, D) of inputs (L, T, C)."""

    @abstractmethod
    def sentence_places(self, sentence: ParsedSentence) -> list[tuple[str, Span]]:
        """The label and the span of each of a sentence's fragments, in encoded order."""

    @torch.inference_mode()
    def embed_images(self, images: Sequence[Tensor]) -> list[FragmentBag]:
        """Bags of uint8 RGB photos of any sizes, each (3, height, width)."""
        bags: list[FragmentBag] = []
        for at in range(0, len(images), BATCH):
            features, boxes = self.sight(images[at : at + BATCH], self.proposer)
            everywhere = torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)
            encoded = self.encode_images(PaddedBags(features, everywhere)).vectors.float().cpu()
            bags += [
                FragmentBag(vectors, tuple(Box(*box) for box in own.tolist()), region_labels(own))
                for vectors, own in zip(encoded, boxes.cpu(), strict=True)
            ]
        return bags

    @torch.inference_mode()
    def embed_sentences(self, texts: Sequence[str]) -> list[FragmentBag]:
        """Bags of sentences; ValueError for a text without words or with too many."""
        sentences = self.sentences(texts)
        places = [self.sentence_places(sentence) for sentence in sentences]
        vectors: list[Tensor] = []
        for at in range(0, len(texts), SENTENCES):
            inputs = PaddedBags.of(self.frozen(sentences[at : at + SENTENCES]))
            encoded = self.encode_sentences(inputs)
            vectors += [
                bag[real].float().cpu()
                for bag, real in zip(encoded.vectors, encoded.mask, strict=True)
            ]
        return [
            FragmentBag(bag, tuple(span for _, span in own), tuple(label for label, _ in own))
            for bag, own in zip(vectors, places, strict=True)
        ]


class VectorMatcher(BagMatcher):
    """A matcher of one vector a side: bags of one, of the whole photo and the whole sentence.

    Image inputs are (1, C); encode_sentences gives (L, 1, D).
    """

    def __init__(self, backbone: str, sizes: tuple[int, ...]) -> None:
        super().__init__(backbone, sizes, Windows([WHOLE_FRAME]))

    def sentence_places(self, sentence: ParsedSentence) -> list[tuple[str, Span]]:
        """The whole sentence, from its first word to its last."""
        words = sentence.words
        return [(WHOLE_SENTENCE, Span(words[0].span.start, words[-1].span.end))]


def region_labels(boxes: Tensor) -> tuple[str, ...]:
    """What a person reads for each region; the first is the whole photo."""
    return (WHOLE_PHOTO, *(f"region {i}" for i in range(1, len(boxes))))
