"""Support of captions: true words against invented ones.

    python -m benchmarks.models.caption_support flickr8k/ --check pascal_part/

A captioner describes the photos of the split val. A content word of a caption is there if a
sentence of the photo has it, or a word of its lemma; a caption is right if all of its nouns are.
Signals compete: for words the probability of the word as a query of its own, that of the word with
its modifiers, its odds less their mean over the calibration's reference photos, and the
probability of the word that it modifies; for captions their own probability and that of their least
probable noun. The threshold of each is the one with the best balanced accuracy on the first corpus;
on the others it is only measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from models import checkpoint, shipped
from models.registry import Captioner, Generation, Matcher
from models.scores.calibration import Calibration, PairKind
from models.text import query_drafts
from models.text.lexicon import is_function_word
from models.text.parsing import parse_trees
from models.text.queries import Query
from models.types import FragmentBag, ParsedSentence, Word
from models.vision.sight import Look, share_sight
from training.data import readers as folders
from training.data.corpus import Example
from training.evaluation.embedding import read_pixels
from training.evaluation.true_answers import MODIFIERS

WORDS = ("word", "phrase", "odds ratio", "modified")
CAPTIONS = ("caption", "least noun")
CLASSES = {
    "nouns": (("NN",), WORDS),
    "verbs": (("VB",), WORDS),
    "nouns and verbs": (("NN", "VB"), WORDS),
    "modifiers": (("JJ", "CD", "RB"), WORDS),
    "captions": (("caption",), CAPTIONS),
}


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A content word or a caption: tag, truth, signals."""

    tag: str
    shown: bool
    signals: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Judge:
    """A captioner, and a calibrated matcher to judge its words."""

    matcher: Matcher
    calibration: Calibration
    captioner: Captioner
    beam: int

    def words(self, example: Example) -> Iterator[JudgedText]:
        """The content words of the best caption of a photo."""
        look = Look(read_pixels(example.image))
        (bag,) = self.matcher.embed_inputs(*([part] for part in look.by(self.matcher.sight)))
        inputs, _ = look.by(self.captioner.sight)
        best = self.captioner.describe([inputs], Generation(beam=self.beam))[0][0]
        tree, *others = parse_trees([best.text, *example.sentences])
        named = {form for sentence in others for word in sentence.words for form in forms(word)}
        places = [i for i, word in enumerate(tree.words) if not is_function_word(word.text)]
        texts = [[tree.words[i].text.lower(), phrase(tree, i)] for i in places]
        known = self.calibration.words
        phrases = [[(text, 1.0)] for pair in texts for text in pair]
        word_queries = iter(
            query_drafts.of_several(self.matcher, [*phrases, [(best.text, 1.0)]], known)
        )
        by_place: dict[int, JudgedText] = {}
        for i in places:
            word, wider = next(word_queries), next(word_queries)
            values = (self.probability(bag, word), self.probability(bag, wider))
            shown = not named.isdisjoint(forms(tree.words[i]))
            by_place[i] = JudgedText(
                tree.words[i].tag, shown, (*values, self.odds(values[0], word))
            )
        for i, judged_word in by_place.items():
            head = by_place.get(tree.words[i].head, judged_word)
            yield replace(judged_word, signals=(*judged_word.signals, head.signals[0]))
        nouns = [noun for noun in by_place.values() if noun.tag.startswith("NN")]
        if nouns:
            least = min(noun.signals[0] for noun in nouns)
            right = all(noun.shown for noun in nouns)
            yield JudgedText("caption", right, (self.probability(bag, next(word_queries)), least))

    def probability(self, bag: FragmentBag, query: Query) -> float:
        """The probability of a query for a photo."""
        return self.calibration.of_pair(bag, query, self.matcher.score)

    def odds(self, probability: float, query: Query) -> float:
        """A word's log odds less their mean over the reference photos."""
        if not query.parts:
            return -np.inf
        vectors = query.parts[0].vectors
        total = vectors.sum(0).numpy()
        usual = self.calibration.probabilities(
            PairKind.TEXT_IN_PHOTO,
            self.calibration.photos.numpy() @ total,
            total[None],
            np.array([len(vectors)]),
        )
        odds = np.log(probability / (1 - probability))
        return float(odds - np.log(usual / (1 - usual)).mean())


def forms(word: Word) -> set[str]:
    """The forms of a word for comparisons."""
    return {word.text.lower(), word.lemma.lower()}


def phrase(tree: ParsedSentence, head: int) -> str:
    """A word with the modifiers before it."""
    modifiers = [
        i for i, w in enumerate(tree.words[:head]) if w.head == head and w.relation in MODIFIERS
    ]
    return " ".join(tree.words[i].text.lower() for i in [*modifiers, head])


def auc(values: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """The area under the ROC curve.

    That is the chance of a true word to have a larger value than a false one.
    """
    true, false = truth.sum(), (~truth).sum()
    return float((rankdata(values)[truth].sum() - true * (true + 1) / 2) / (true * false))


def rates(values: NDArray[np.float64], truth: NDArray[np.bool_], least: float) -> list[float]:
    """The share of kept true words, and of marked false ones."""
    return [float((values[truth] >= least).mean()), float((values[~truth] < least).mean())]


def best_threshold(values: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """The value with the best balanced accuracy."""
    return float(max(np.unique(values), key=lambda least: sum(rates(values, truth, least))))


def table(corpora: dict[str, list[JudgedText]]) -> None:
    """Print each signal's area, and the results of its threshold."""
    thresholds: dict[tuple[str, str], float] = {}
    for name, words in corpora.items():
        for kind, (tags, signals) in CLASSES.items():
            class_words = [word for word in words if word.tag.startswith(tags)]
            truth = np.array([word.shown for word in class_words])
            print(f"{name}, {kind}: {len(class_words)}, {truth.mean():.3f} of them there")
            for at, signal in enumerate(signals):
                values = np.array([word.signals[at] for word in class_words])
                key = (kind, signal)
                least = thresholds.setdefault(key, best_threshold(values, truth))
                kept_share, marked = rates(values, truth, least)
                print(
                    f"  {signal:12} area {auc(values, truth):.3f}; from {least:.3f} on "
                    f"{kept_share:.3f} of the true kept, {marked:.3f} of the false marked"
                )


def main() -> None:
    """Judge the captions of every corpus and print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path)
    options.add_argument("--check", type=Path, action="append", default=[])
    options.add_argument("--captioner", type=Path, default=shipped.CAPTIONER)
    options.add_argument("--matcher", type=Path, default=shipped.MATCHER)
    options.add_argument("--beam", type=int, default=3)
    options.add_argument("--photos", type=int, help="of each corpus; all if not given")
    chosen = options.parse_args()
    loaded = checkpoint.load(chosen.matcher)
    if loaded.calibration is None:
        options.error(f"{chosen.matcher} is not calibrated; run `tessera calibrate`")
    captioner: Captioner = checkpoint.load(chosen.captioner).model
    share_sight(loaded.model.sight, captioner)
    judge = Judge(loaded.model, loaded.calibration, captioner, chosen.beam)
    corpora = [folders.read(path) for path in (chosen.data, *chosen.check)]
    table(
        {
            corpus.name: judge_captions(judge, corpus.split("val")[: chosen.photos])
            for corpus in corpora
        }
    )


def judge_captions(judge: Judge, examples: Sequence[Example]) -> list[JudgedText]:
    """The content words of the captions of some photos."""
    return [word for example in examples for word in judge.words(example)]


if __name__ == "__main__":
    main()
