"""Which words a matcher with its own word vectors knows: the frequent ones of train."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from models.parsing import parse
from training.data.corpus import Example

LEAST_COUNT = 5


def vocabulary(examples: Iterable[Example], least_count: int = LEAST_COUNT) -> tuple[str, ...]:
    """Lower-cased words that the examples, those of train, hold at least least_count times.

    The filter of Karpathy & Fei-Fei 2015, section 4; the most frequent word comes first. Where
    the paper deletes all characters but letters and digits, words here are split as a query's
    are ("man's" is "man" and "'s"), so that a query finds the words that were trained.
    """
    counts = Counter(
        word.text.lower()
        for example in examples
        for sentence in example.sentences
        for word in parse(sentence).words
    )
    kept = [(-count, word) for word, count in counts.items() if count >= least_count]
    return tuple(word for _, word in sorted(kept))
