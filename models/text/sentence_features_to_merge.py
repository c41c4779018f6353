"""Features of sentences by name: Fisher vectors, means of word vectors, and tf-idf."""

from __future__ import annotations

from models.text.fisher import FisherVectors
from models.text.sentence_features import MeanVector, TfIdf
from models.text.words import MINILM_HIDDEN

FEATURES = ("hglmm", "mean", "tfidf")


def sentence_features(
    kind: str, words: int, axes: int, components: int, principal: int
) -> FisherVectors | MeanVector | TfIdf:
    """A module of one vector a sentence, to be fitted on train's.

    tfidf: of a vocabulary of `words`. hglmm: `axes` numbers a word, `components` of the mixture,
    `principal` numbers a sentence.
    """
    if kind == "tfidf":
        return TfIdf(1 + words)
    if kind == "mean":
        return MeanVector(MINILM_HIDDEN)
    return FisherVectors(MINILM_HIDDEN, axes, components, principal)
