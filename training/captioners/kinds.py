"""Kinds of a captioner, persons and animals, by WordNet.

They have classes and words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from models.captioners.attentive import Model
from models.captions.kinds import ThingKind
from models.checkpoint import Checkpoint
from models.text import classes
from models.text.parsing import parse_trees
from models.types import PaddedBags, ParsedSentence
from training.captioners.train import frozen_inputs
from training.captioners.vocabulary import caption_words
from training.data.corpus import Example
from training.evaluation.captions.wordnet import PERSONS, WordNet
from training.matchers.frozen import precision_of
from training.runs.folder import RunPlace
from training.runs.progress import Progress

# The kinds that captions invent most, with values of decision 0012.
KINDS = (ThingKind(PERSONS, 2.0, 0.01), ThingKind(("animal",), 1.0, 0.01))
NAMED = 3 / 4  # of the photos with a word that show its kind, so that it names the kind
PREPARED = 64  # photos at once

Nouns = dict[str, str]  # words that are nouns more often than not, to their singular


def add_kinds(
    loaded: Checkpoint, examples: Sequence[Example], place: RunPlace, progress: Progress
) -> Model:
    """A checkpoint's captioner with KINDS, measured on examples of train.

    ValueError for a model without classifiers, LookupError without WordNet.
    """
    if loaded.name != "attentive":
        raise ValueError(
            "only captioners of the model attentive take kinds; this is "
            f"{loaded.name}, one of the {loaded.kind}"
        )
    wordnet = WordNet()  # first: features of all photos take minutes
    inputs = frozen_inputs(loaded.model, examples, place, precision_of(loaded), progress)
    return fit_kinds(loaded.model, inputs, examples, wordnet)


def fit_kinds(
    captioner: Model,
    inputs: Sequence[Tensor],
    examples: Sequence[Example],
    wordnet: WordNet,
    kinds: tuple[ThingKind, ...] = KINDS,
) -> Model:
    """Give a captioner kinds.

    Its captions name none that a photo does not show.

    `inputs` are the sight's features (F, C) of train's photos, `examples` the same photos with
    sentences.
    """
    model = replace_kinds(captioner, kinds)
    language, words = model.language, captioner.config.words
    bags = (PaddedBags.of(inputs[at : at + PREPARED]) for at in range(0, len(inputs), PREPARED))
    logits, features = map(  # (N, 1000) and (N, V · C)
        torch.cat, zip(*((language.classes(bag), language.whole(bag)) for bag in bags), strict=True)
    )
    parsed = parse_trees([text for example in examples for text in example.sentences])
    kind_shares = measure_shares(examples, parsed, kinds, wordnet)
    singular = find_nouns([*parsed, *parse_trees([w for w in words if any(map(str.isalnum, w))])])
    members = find_members(words, singular, kinds, wordnet)
    language.kinds.fit(
        logits,
        features,
        kind_shares,
        classes_of(kinds).float(),
        (members & find_usual_words(examples, words, kind_shares)).float(),
    )
    return model


def replace_kinds(captioner: Model, kinds: tuple[ThingKind, ...]) -> Model:
    """Copy a captioner with other kinds, not yet fitted."""
    model = Model(replace(captioner.config, kinds=kinds)).eval()
    weights = captioner.state_dict().items()
    model.load_state_dict(
        {name: weight for name, weight in weights if ".kinds." not in name}, strict=False
    )
    return model


def measure_shares(
    examples: Sequence[Example],
    parsed: Sequence[ParsedSentence],
    kinds: Sequence[ThingKind],
    wordnet: WordNet,
) -> Tensor:
    """Measure the share (N, G) of sentences with each kind's nouns."""
    unread = iter(parsed)
    trees = [[next(unread) for _ in example.sentences] for example in examples]
    return torch.tensor(
        [[measure_share(photo_trees, kind, wordnet) for kind in kinds] for photo_trees in trees]
    )


def find_members(
    words: Sequence[str], singular: Nouns, kinds: Sequence[ThingKind], wordnet: WordNet
) -> Tensor:
    """Find the words (G, W) of each kind by WordNet."""
    return torch.tensor(
        [
            [word in singular and wordnet.is_a(singular[word], kind.terms) for word in words]
            for kind in kinds
        ]
    )


def find_nouns(trees: Iterable[ParsedSentence]) -> Nouns:
    """Find mostly used nouns and their singular."""
    readings: dict[str, Counter[str]] = {}
    for tree in trees:
        for word in tree.words:
            lemma = word.lemma.lower() if word.tag in ("NN", "NNS") else ""
            readings.setdefault(word.text.lower(), Counter())[lemma] += 1
    main_lemmas = {word: lemmas.most_common(1)[0][0] for word, lemmas in readings.items()}
    return {word: lemma for word, lemma in main_lemmas.items() if lemma}


def measure_share(trees: Sequence[ParsedSentence], kind: ThingKind, wordnet: WordNet) -> float:
    """The share of a photo's sentences with a noun of a kind."""
    return sum(
        any(
            word.tag in ("NN", "NNS") and wordnet.is_a(word.lemma.lower(), kind.terms)
            for word in tree.words
        )
        for tree in trees
    ) / len(trees)


def classes_of(kinds: Sequence[ThingKind]) -> Tensor:
    """Find ImageNet's classes (G, 1000) of each kind by their broader terms."""
    terms = [{name for level in levels for name in level} for levels in classes.names()]
    return torch.tensor(
        [[not class_terms.isdisjoint(kind.terms) for class_terms in terms] for kind in kinds]
    )


def find_usual_words(
    examples: Sequence[Example], words: Sequence[str], kind_shares: Tensor
) -> Tensor:
    """Find the usual words (G, W) for photos of a kind.

    So "branch", a group of persons in WordNet, is no person. Words that no sentence has pass, too.
    """
    places = {word: place for place, word in enumerate(words)}
    photos, with_kind = torch.zeros(len(words)), torch.zeros(kind_shares.shape[1], len(words))
    for example, photo_kinds in zip(examples, kind_shares, strict=True):
        columns = [places[word] for word in distinct_words(example) if word in places]
        photos[columns] += 1
        with_kind[:, columns] += (photo_kinds > 1 / 2).float()[:, None]
    return with_kind >= NAMED * photos


def distinct_words(example: Example) -> Iterator[str]:
    """The different words of a photo's sentences."""
    yield from {word for sentence in example.sentences for word in caption_words(sentence)}
