"""Agreement of caption metrics with pycocoevalcap (it needs Java), both in percent."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from models import checkpoint, shipped
from training.captioners.describe import describe
from training.captioners.train import frozen_inputs
from training.data import readers as folders
from training.evaluation.captions.measure import descriptions
from training.evaluation.captions.treebank import treebank_words
from training.matchers.frozen import precision_of
from training.runs import progress
from training.runs.folder import RunPlace

Texts = Mapping[int, Sequence[str]]


def main() -> None:
    """Describe a split's photos, and measure the captions both ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--captioner", type=Path, default=shipped.CAPTIONER)
    parser.add_argument("--cache", type=Path, default=Path(".tessera/features"))
    options = parser.parse_args()
    examples = folders.read(options.data, None).split("val")
    loaded, place = checkpoint.load(options.captioner), RunPlace(options.cache, options.cache)
    precision = precision_of(loaded)
    inputs = frozen_inputs(loaded.model, examples, place, precision, progress.silent)
    captions = describe(loaded.model, examples, inputs=inputs)
    sentences = {at: example.sentences for at, example in enumerate(examples)}
    ours = descriptions(captions, examples)
    theirs = reference({at: [caption.text] for at, caption in enumerate(captions)}, sentences)
    measured = dict(zip(("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4"), ours.bleu, strict=True))
    measured |= {"METEOR": ours.meteor or 0, "ROUGE-L": ours.rouge, "CIDEr-D": ours.cider}
    for name, value in measured.items():
        print(f"{name}: {value:.4f}, pycocoevalcap {theirs[name]:.4f}, {value - theirs[name]:+.4f}")


def reference(captions: Texts, sentences: Texts) -> dict[str, float]:
    """The metrics of pycocoevalcap in percent; RuntimeError if its words differ."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.meteor.meteor import Meteor
    from pycocoevalcap.rouge.rouge import Rouge

    candidates, references = tokenize(captions), tokenize(sentences)
    scores = dict(
        zip(
            ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4"),
            Bleu(4).compute_score(references, candidates)[0],
            strict=True,
        )
    )
    for name, metric in (("METEOR", Meteor()), ("ROUGE-L", Rouge()), ("CIDEr-D", Cider())):
        scores[name] = metric.compute_score(references, candidates)[0]
    return {name: 100 * float(score) for name, score in scores.items()}


def tokenize(texts: Texts) -> dict[int, list[str]]:
    """Words by Stanford's tokenizer, joined by spaces."""
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    rows = {at: [{"caption": text} for text in lines] for at, lines in texts.items()}
    tokens: dict[int, list[str]] = PTBTokenizer().tokenize(rows)
    for at, lines in texts.items():
        for text, line in zip(lines, tokens[at], strict=True):
            if treebank_words(text) != line.split():
                raise RuntimeError(f"{text!r} is {line.split()}, not {treebank_words(text)}")
    return tokens


if __name__ == "__main__":
    main()
