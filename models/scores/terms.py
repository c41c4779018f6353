"""Terms of a catalogue: further numbers of fragments for its kinds and attributes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.text.lexicon import is_function_word
from models.text.parsing import parse
from models.types import PaddedBags

LEAST, MOST = 0.01, 0.1  # ε and μ: probabilities nearer to 0, or to 1, make no difference


class CatalogueTerms(nn.Module):
    """S_kl = S'_kl + r_l (Σ_v n_lv c z_kv + g_k (d_0 + d_1 Σ_v n_lv)), S' the score without terms.

    z_kv = log (q + ε) / (1 − q + μ) − log ε / (1 + μ) with q = g_k p_kv: the log-odds of term v on
    photo k, from 0 on and bounded, so that a sure term does not make up for a missing one.
    p_k = σ(W x_k + b) are the probabilities of the V terms for photo k, from the features x_k of
    the whole photo, and g_k = σ(uᵀ f_k + h) that it is a photo of such a catalogue at all, from its
    whole-photo fragment f_k. Scores of other photos, and of texts without terms, stay as they are.
    r_l is the share of terms in a text's content words: 1 for "blue shirt", and little for "two men
    in blue shirts wait for a train".

    Every fragment of an image has z_k and g_k as V + 1 further numbers, so comparisons between its
    regions stay the same. n_lv is the count of term v in text l, in any form. The words of a term
    share its part, so links still add up to the score. `strengths` are c, d_0 and d_1; a text
    without terms has no d_0.
    """

    weight: Tensor
    bias: Tensor
    gate: Tensor
    gate_bias: Tensor
    strengths: Tensor
    stored_in_half = ("weight",)

    def __init__(self, terms: Sequence[Sequence[str]], features: int, dimension: int) -> None:
        """`terms` are the forms of each term, such as ("shoes", "shoe")."""
        super().__init__()
        V = len(terms)
        self.register_buffer("weight", torch.zeros(V, features))
        self.register_buffer("bias", torch.zeros(V))
        self.register_buffer("gate", torch.zeros(dimension))
        self.register_buffer("gate_bias", torch.zeros(()))
        self.register_buffer("strengths", torch.zeros(3))
        words = [(words_of(form), number) for number, forms in enumerate(terms) for form in forms]
        # The form that is most frequent counts, where two terms share one.
        self.numbers = {"".join(form): number for form, number in reversed(words)}
        self.longest = max((len(form) for form, _ in words), default=0) + 1  # "t shirt" for one

    def __len__(self) -> int:
        return len(self.bias)

    @property
    def numbers_added(self) -> int:
        """The count of further numbers in a fragment."""
        return len(self) + 1

    def membership(self, wholes: Tensor) -> Tensor:
        """G (K,) of whole-photo fragments (K, D)."""
        return torch.sigmoid(wholes.float() @ self.gate + self.gate_bias)

    def detect(self, features: Tensor, wholes: Tensor) -> Tensor:
        """Z and g (K, V + 1) of features (K, C) of whole photos and their fragments (K, D)."""
        p = torch.sigmoid(features @ self.weight.T + self.bias)  # (K, V)
        return evidence(p, self.membership(wholes))

    def images(self, bags: PaddedBags, features: Tensor) -> PaddedBags:
        """Bags with the terms in features (K, C), (K, R, D + V + 1)."""
        shown = self.detect(features, bags.vectors[:, 0])[:, None]
        shown = shown.expand(-1, bags.vectors.shape[1], -1)  # (K, R, V + 1)
        return PaddedBags(torch.cat([bags.vectors, shown.to(bags.vectors)], -1), bags.mask)

    def sentences(self, bags: PaddedBags, words: Sequence[Sequence[str]]) -> PaddedBags:
        """Bags with the terms in each sentence's words, (L, T, D + V + 1)."""
        weights = bags.vectors.new_zeros(*bags.mask.shape, self.numbers_added)
        strength, once, each = self.strengths.tolist()
        for sentence, sentence_words in zip(weights, words, strict=True):
            named = self.find(sentence_words)
            r = share(sentence_words, named)
            for start, end, number in named:
                sentence[start:end, number] = r * strength / (end - start)
                sentence[start:end, -1] = r * (once / len(named) + each) / (end - start)
        return PaddedBags(torch.cat([bags.vectors, weights], -1), bags.mask)

    def find(self, words: Sequence[str]) -> list[tuple[int, int, int]]:
        """Start, end and number of a sentence's terms, the longest first."""
        plain, matches, start = [word.lower() for word in words], list[tuple[int, int, int]](), 0
        while start < len(plain):
            ends = range(min(start + self.longest, len(plain)), start, -1)
            end = next((end for end in ends if "".join(plain[start:end]) in self.numbers), None)
            if end is not None:
                matches.append((start, end, self.numbers["".join(plain[start:end])]))
            start = end or start + 1
        return matches


def share(words: Sequence[str], named: Sequence[tuple[int, int, int]]) -> float:
    """The share of a sentence's content words in its terms, 0 to 1.

    Function words do not count, nor does what has no letter or digit.
    """
    content = {
        place
        for place, word in enumerate(words)
        if any(map(str.isalnum, word)) and not is_function_word(word)
    }
    covered = {place for start, end, _ in named for place in range(start, end)}
    return len(covered) / len(content | covered) if covered else 0.0


def evidence(p: Tensor, g: Tensor) -> Tensor:
    """z_kv and g_k, (K, V + 1), of p (K, V) and g (K,)."""
    q = g[:, None] * p
    present, absent = torch.log1p(q / LEAST), torch.log1p(-q / (1 + MOST))
    return torch.cat([present - absent, g[:, None]], 1)


def words_of(form: str) -> list[str]:
    """The words of a term as a text tower counts them."""
    return [word.text.lower() for word in parse(form).words]
