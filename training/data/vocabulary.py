"""Vocabulary: the words and relations of train's sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from models.text.parsing import parse, parse_trees
from training.data.corpus import Example

LEAST_COUNT = 5
LEAST_SHARE = 5e-4  # rarer words weigh nearly 1 at any share
LEAST_RELATION = 0.01  # a share of all relations (Karpathy et al. 2014, section 4)


def vocabulary(examples: Iterable[Example], least_count: int = LEAST_COUNT) -> tuple[str, ...]:
    """List train's lower-case words by their least count.

    The filter of Karpathy & Fei-Fei 2015, section 4; the most frequent word comes first. The paper
    deletes all characters but letters and digits. Here words are split as a query's are ("man's" is
    "man" and "'s"), so that a query finds the trained words.
    """
    frequent = [(-n, word) for word, n in count_words(examples).items() if n >= least_count]
    return tuple(word for _, word in sorted(frequent))


def frequencies(
    examples: Iterable[Example], least_share: float = LEAST_SHARE
) -> tuple[tuple[str, float], ...]:
    """List train's most frequent words, and their shares."""
    counted = count_words(examples)
    total = counted.total()
    frequent = [(-n, word) for word, n in counted.items() if n >= least_share * total]
    return tuple((word, round(-n / total, 6)) for n, word in sorted(frequent))


def relations(examples: Iterable[Example], least_share: float = LEAST_RELATION) -> tuple[str, ...]:
    """List frequent relations, the most frequent first.

    They have at least a share of all.

    Each image's first sentence is parsed: shares of one in a hundred need no more.
    """
    trees = parse_trees([example.sentences[0] for example in examples if example.sentences])
    counted = Counter(word.relation for tree in trees for word in tree.words if word.head >= 0)
    frequent = [
        (-n, relation) for relation, n in counted.items() if n >= least_share * counted.total()
    ]
    return tuple(relation for _, relation in sorted(frequent))


def count_words(examples: Iterable[Example]) -> Counter[str]:
    """Count each lower-cased word."""
    return Counter(
        word.text.lower()
        for example in examples
        for sentence in example.sentences
        for word in parse(sentence).words
    )
