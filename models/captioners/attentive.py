"""The shipped captioner: an LSTM with attention and a matcher's evidence.

The multimodal RNN of Karpathy & Fei-Fei (2015), eq. 13-15, as a long short-term memory with
attention over the boxes (Xu et al. 2015; Anderson et al. 2018). A matcher's joint space adds two
things: the photo's vector starts the sentence, and each word's similarity to the photo is added to
its logit, as far as the place in the sentence asks for a visible word. A sentence can take the
place of a photo (Nukrai et al. 2022), so the captioner learns from text alone as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.captions.captioning import FIRST_WORD, Language, LanguageCaptioner
from models.captions.decoding import State
from models.captions.evidence import Evidence, reliability, usual, written
from models.captions.kinds import ThingKind, ThingKinds
from models.matcher import TowerOptions, TwoTowerMatcher, build_tower
from models.types import PaddedBags
from models.vision.backbones import CLASSES

PREPARED = 64  # photos prepared at once
USUAL = 20_000  # sentences for the usual similarities


@dataclass(frozen=True, slots=True)
class Config:
    """The vocabulary, the matcher's image tower, and sizes.

    The first `joint` numbers of the tower's vectors are the joint space. `noise` is the length of
    the noise on a sentence's unit vector in training, as a photo's vector may lie elsewhere.
    `doubt` is the weight of doubts in captions. No caption names one of the `kinds` without a sign
    of it in the photo, and none ends with one of the `unfinished` words, such as "a" and "large".
    """

    words: tuple[str, ...]
    image: TowerOptions
    joint: int = 256
    embedding: int = 256
    hidden: int = 512
    attention: int = 256
    dropout: float = 0.5
    sight_dropout: float = 0.3
    noise: float = 0.5
    doubt: float = 2.0
    longest: int = 20  # words of a caption
    shortest: int = 5
    unfinished: tuple[str, ...] = ()
    kinds: tuple[ThingKind, ...] = ()

    def __post_init__(self) -> None:
        if self.embedding < self.joint:
            raise ValueError(
                f"embedding is {self.embedding}: words begin from the joint space's vectors, so "
                f"give at least its {self.joint}"
            )
        object.__setattr__(self, "words", tuple(self.words))
        object.__setattr__(self, "unfinished", tuple(self.unfinished))
        kinds = (kind if isinstance(kind, ThingKind) else ThingKind(**kind) for kind in self.kinds)
        object.__setattr__(self, "kinds", tuple(kinds))
        if isinstance(self.image, Mapping):
            object.__setattr__(self, "image", TowerOptions.of("image_towers", **self.image))


class Attentive(Language):
    """p(next word | words so far, photo), of a photo's F features x_r and joint vector f.

    h_0, c_0 = W_0 [f; U x]; h_t, c_t = LSTM(W_w w_t, h_{t-1}, c_{t-1});
    a_t = softmax_r(q(h_t)·k(x_r) / √A), with one more place for "nothing";
    y_t = W_wᵀ(W_oh h_t + Σ_r a_tr u(x_r)) + b_o + g(h_t) e.

    e is the evidence for each word, and g ≥ 0 its weight at this place of the sentence.
    """

    photo_mean: Tensor
    text_mean: Tensor

    def __init__(self, config: Config, tower: Any) -> None:
        super().__init__()
        self.config, self.views = config, len(config.image.options.views)
        self.tower: Any = tower.requires_grad_(False)  # of views: it has `standard_features`
        channels: int = tower.sight.channels
        joint, E = config.joint, config.embedding
        self.sizes = [config.attention, E]
        self.words = nn.Embedding(len(config.words) + FIRST_WORD, E)
        nn.init.normal_(self.words.weight, std=E**-0.5)
        self.scale = E**0.5  # the same weights, as inputs, have unit variance
        self.evidence = Evidence(len(config.words), joint)
        self.kinds = ThingKinds(config.kinds, CLASSES, self.views * channels, len(config.words))
        self.register_buffer("photo_mean", torch.zeros(joint))
        self.register_buffer("text_mean", torch.zeros(joint))
        self.frame = nn.Linear(self.views * channels, joint)
        self.start = nn.Linear(2 * joint, 2 * config.hidden)
        self.lstm = nn.LSTM(E, config.hidden, batch_first=True)
        self.regions = nn.Linear(channels, sum(self.sizes))
        self.nothing = nn.Parameter(torch.zeros(sum(self.sizes)))
        self.query = nn.Linear(config.hidden, config.attention)
        self.out = nn.Linear(config.hidden, E)
        self.gate = nn.Linear(config.hidden, 1)
        self.bias = nn.Parameter(torch.zeros(len(self.words.weight)))
        self.dropout = nn.Dropout(config.dropout)
        self.sight_dropout = nn.Dropout(config.sight_dropout)

    def train(self, mode: bool = True) -> Attentive:
        """The tower is frozen and stays in evaluation mode."""
        super().train(mode)
        self.tower.eval()
        return self

    def fragments(self, inputs: PaddedBags) -> Tensor:
        """The tower's fragments (K, R, D) of features (K, F, C), in the joint space."""
        with torch.no_grad():
            bags: PaddedBags = self.tower(inputs)
        return bags.vectors[..., : self.config.joint].float()

    def look(self, inputs: PaddedBags) -> State:
        """The sight's features (K, F, C) to h, c, keys, values, evidence, absent kinds."""
        fragments = self.fragments(inputs)
        with torch.no_grad():
            rows: Tensor = self.tower.standard_features(inputs)  # (K, F, C)
        joint = F.normalize(fragments[:, 0], dim=-1) - self.photo_mean
        evidence = self.evidence(self.evidence.of_photos(fragments), self.evidence.photos)
        frame = self.frame(self.sight_dropout(rows[:, : self.views].flatten(1)))
        mapped = self.regions(self.sight_dropout(rows))  # (K, F, A + E)
        return (*self.begin_state(joint, frame, mapped, evidence), self.absent(inputs))

    def absent(self, inputs: PaddedBags) -> Tensor:
        """The kinds (K, G) without a sign in photos, by features (K, F, C)."""
        if not self.config.kinds:
            return inputs.vectors.new_zeros(len(inputs), 0)
        return self.kinds.absent(self.classes(inputs), self.whole(inputs))

    def whole(self, inputs: PaddedBags) -> Tensor:
        """The standardised features (K, V · C) of all views of the frame together."""
        with torch.no_grad():
            features: Tensor = self.tower.whole(inputs)
        return features

    def familiarity(self, inputs: PaddedBags) -> Tensor | None:
        """Likeness (K,) of photos to train's; None if not measured."""
        return self.kinds.familiarity(self.whole(inputs)) if self.config.kinds else None

    def classes(self, inputs: PaddedBags) -> Tensor:
        """The logits (K, 1000) of ImageNet's classes for the sight's features (K, F, C)."""
        with torch.no_grad():
            logits: Tensor = self.tower.names.logits(inputs.vectors[:, : self.views])
        return logits

    def look_at_texts(self, vectors: Tensor) -> State:
        """Sentences' unit vectors (K, D) instead of photos."""
        joint = vectors - self.text_mean
        if self.training:
            joint = joint + self.config.noise * F.normalize(torch.randn_like(joint), dim=-1)
        evidence = self.evidence(self.evidence.of_texts(vectors), self.evidence.texts)
        nothing = vectors.new_zeros(len(vectors), 0, sum(self.sizes))
        absent = vectors.new_zeros(len(vectors), len(self.config.kinds))
        return (*self.begin_state(joint, torch.zeros_like(joint), nothing, evidence), absent)

    def begin_state(self, joint: Tensor, frame: Tensor, mapped: Tensor, evidence: Tensor) -> State:
        """The state before the first word; mapped (K, F, A + E) are keys and values."""
        began = self.start(
            torch.cat([F.normalize(joint, dim=-1) * joint.shape[1] ** 0.5, frame], 1)
        )
        hidden, cell = began.chunk(2, dim=1)
        nothing = self.nothing.expand(len(joint), 1, -1).to(mapped.dtype)
        keys, values = torch.split(torch.cat([mapped, nothing], 1), self.sizes, dim=2)
        return hidden.tanh(), cell, keys, values, evidence

    def forward(self, words: Tensor, state: State) -> tuple[Tensor, State]:
        """Words (N, T) to hidden states (N, T, H), for `logits` of the words after them."""
        hidden, cell, *rest = state
        inputs = self.dropout(self.words(words) * self.scale)  # (N, T, E)
        if words.shape[1] == 1:  # a search's step: a sequence of one takes four times as long
            hidden, cell = torch.lstm_cell(inputs[:, 0], (hidden, cell), *self.lstm.all_weights[0])
            return hidden[:, None], (hidden, cell, *rest)
        outputs, (hidden, cell) = self.lstm(
            inputs, (hidden[None].contiguous(), cell[None].contiguous())
        )
        return outputs, (hidden[0], cell[0], *rest)

    def weights(self, outputs: Tensor, state: State) -> Tensor:
        """The attention a (N, T, F + 1), the last place being nothing."""
        logits = self.query(outputs) @ state[2].transpose(1, 2) / self.sizes[0] ** 0.5
        weights: Tensor = logits.softmax(-1)
        return weights

    def logits(self, outputs: Tensor, state: State) -> Tensor:
        """Hidden states (N, T, H) to the words' logits (N, T, V)."""
        every = torch.ones(outputs.shape[:2], dtype=torch.bool, device=outputs.device)
        return self.logits_where(every, outputs, state).view(*outputs.shape[:2], -1)

    def logits_where(self, where: Tensor, outputs: Tensor, state: State) -> Tensor:
        """The logits (W, V) of the W places of a mask (N, T) alone."""
        outputs = self.dropout(outputs)
        attended = self.weights(outputs, state) @ state[3]
        joined = self.dropout(self.out(outputs) + attended)[where]
        gate = F.softplus(self.gate(outputs[where]))  # (W, 1)
        evidence = state[4][where.nonzero()[:, 0]]
        return F.linear(joined, self.words.weight, self.bias) + gate * evidence

    def doubts(self, state: State) -> Tensor:
        """Amounts (K, V) to subtract from words' logits: infinite for words of absent kinds."""
        doubts = self.config.doubt * self.evidence.doubt(state[4])
        if not self.config.kinds:
            return doubts
        names = F.pad(self.kinds.names(state[5]), (FIRST_WORD, 0))
        return doubts.masked_fill(names, float("inf"))

    def attention(self, outputs: Tensor, state: State) -> Tensor:
        """Each word's attention to each box (N, T, R), all views of the frame together."""
        weights = self.weights(outputs, state)
        boxes = weights[..., self.views : -1]
        return torch.cat([1 - boxes.sum(-1, keepdim=True), boxes], -1)

    @torch.no_grad()
    def begin_words(self) -> None:
        """Begin at the evidence's vectors of words."""
        names = self.evidence.names
        apart = F.normalize(names - names.mean(0), dim=-1)
        self.words.weight[FIRST_WORD:] = F.pad(apart, (0, self.config.embedding - names.shape[1]))

    @torch.no_grad()
    def see_by(
        self,
        matcher: TwoTowerMatcher,
        photos: Sequence[Tensor],
        sentences: Sequence[Sequence[Tensor]],
        texts: Tensor,
    ) -> None:
        """Take a matcher's tower and words as evidence.

        Train's photos are measured.

        `photos` are the sight's inputs (F, C), `sentences` each photo's as word indices (T,), and
        `texts` unit vectors (N, D) of sentences.
        """
        self.tower.load_state_dict(without_sight(matcher.image.state_dict()))
        self.evidence.names.copy_(text_vectors(matcher, self.config.words, self.config.joint))
        device = self.bias.device
        wholes, similar = [], []
        for at in range(0, len(photos), PREPARED):
            fragments = self.fragments(PaddedBags.of(photos[at : at + PREPARED]).to(device))
            wholes.append(F.normalize(fragments[:, 0], dim=-1))
            similar.append(self.evidence.of_photos(fragments))
        self.photo_mean.copy_(torch.cat(wholes).mean(0))
        self.text_mean.copy_(texts.mean(0))
        similarities = torch.cat(similar)
        self.evidence.photos.copy_(usual(similarities))
        self.evidence.reliability.copy_(reliability(similarities, written(sentences, similarities)))
        sample = texts[torch.linspace(0, len(texts) - 1, min(len(texts), USUAL)).long()]
        self.evidence.texts.copy_(usual(self.evidence.of_texts(sample.to(device))))


class Model(LanguageCaptioner):
    """The image tower's sight, and a language over its features."""

    language: Attentive

    def __init__(self, config: Config) -> None:
        tower = build_tower("image_towers", config.image)
        if not hasattr(tower, "standard_features"):
            raise ValueError(f"captioner attentive needs a tower of views, not {config.image.name}")
        if config.kinds and tower.names is None:
            raise ValueError("kinds are told by classifiers: give the image tower `classifiers`")
        sight, language = tower.sight, Attentive(config, tower)
        tower.sight = None  # it is the captioner's
        super().__init__(config, sight, language)

    @torch.inference_mode()
    def find_absent_words(self, inputs: Tensor) -> frozenset[str]:
        """Words of absent kinds, by a photo's inputs (F, C)."""
        kinds = self.language.kinds
        names = kinds.names(self.language.absent(PaddedBags.of([inputs]).to(self.device)))[0]
        return frozenset(self.config.words[at] for at in names.nonzero().flatten().tolist())


def without_sight(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A tower's weights without those of its sight."""
    return {key: value for key, value in state.items() if not key.startswith("sight.")}


def text_vectors(matcher: TwoTowerMatcher, texts: Sequence[str], joint: int) -> Tensor:
    """Unit vectors (N, D) of texts in the joint space: sums of words."""
    bags = matcher.embed_sentences(texts)
    sums = torch.stack([bag.vectors[:, :joint].sum(0) for bag in bags])
    return F.normalize(sums, dim=-1)
