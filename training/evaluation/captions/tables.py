"""Measurements of captions as lines for a terminal."""

from __future__ import annotations

from rich.markup import escape

from training.evaluation.captions.measure import Descriptions, list_missing
from training.evaluation.captions.naming import Naming
from training.markdown import one_decimal, slashed


def format_descriptions(measured: Descriptions) -> str:
    """Format a line a metric of captions; "–" for one without a value.

    Missing data of other packages come last.
    """
    invented = measured.hallucination
    lines = {
        "BLEU-1 to 4": slashed(measured.bleu),
        "METEOR": one_decimal(measured.meteor),
        "ROUGE-L": one_decimal(measured.rouge),
        "CIDEr-D": one_decimal(measured.cider),
        "SPICE": one_decimal(measured.spice),
        "words a caption": one_decimal(measured.length),
        "words used": f"{measured.vocabulary:,}",
        "captions copied from train, %": one_decimal(measured.copied),
        "nouns that no sentence names, %": one_decimal(invented.hallucinated if invented else None),
        "captions with such a noun, %": one_decimal(invented.captions if invented else None),
        "captions with an unnamed person, %": one_decimal(invented.persons if invented else None),
        "captions that are no guesses, %": one_decimal(invented.sure if invented else None),
        "of these, without such a noun, %": one_decimal(invented.sure_right if invented else None),
        "captions without such a noun that are no guesses, %": one_decimal(
            invented.right_sure if invented else None
        ),
        "nouns with IoU ≥ 0.5 to a true box by attention, %": one_decimal(
            invented.grounded if invented else None
        ),
        "nouns with IoU ≥ 0.5 to a true box by the matcher, %": one_decimal(
            invented.linked if invented else None
        ),
    }
    metrics = [f"{name}: {value}" for name, value in lines.items()]
    return escape("\n".join([*metrics, *list_missing(measured)]))


def format_naming(measured: Naming) -> str:
    """Format a line a measure of names in captions; "–" without a value."""
    lines = {
        "captions with a person, %": measured.persons,
        "captions with an animal, %": measured.animals,
        "captions that are not marked unsure, %": measured.sure,
        "such captions with a person, % of all": measured.sure_persons,
    }
    return "\n".join(f"{name}: {one_decimal(value)}" for name, value in lines.items())
