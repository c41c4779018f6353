"""Captions as indices of a vocabulary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from models.captions.decoding import END

SPACED_HYPHEN = re.compile(r"(?<=\w) - (?=\w)")  # "t - shirt", as Flickr8k writes it
SPACED_ENDING = re.compile(r" (?=(?:'s|n't|'re|'ll|'ve)\b)")  # "man 's"
WORD = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")


def caption_words(text: str) -> list[str]:
    """Split a text into words of captions, such as "t-shirt".

    They are in lower case; "man's" is another.
    """
    joined = SPACED_ENDING.sub("", SPACED_HYPHEN.sub("-", text.lower()))
    return WORD.findall(joined)


def vocabulary(sentences: Iterable[str], least_count: int) -> tuple[str, ...]:
    """List the frequent words of sentences.

    They come at least least_count times.

    The filter of Karpathy & Fei-Fei 2015, section 4; the most frequent word comes first.
    ValueError if no word is left.
    """
    counts = Counter(word for sentence in sentences for word in caption_words(sentence))
    frequent = sorted((-count, word) for word, count in counts.items() if count >= least_count)
    if not frequent:
        raise ValueError(f"no word comes {least_count} times in train; lower the least count")
    return tuple(word for _, word in frequent)


def count_words(sentences: Sequence[Sequence[Tensor]], size: int) -> Tensor:
    """Count each of V words (V,) as a target, END among them."""
    lines = [line for indices in sentences for line in indices]
    frequencies = torch.bincount(torch.cat(lines), minlength=size)
    frequencies[END] += len(lines)
    return frequencies
