"""Commands of training, of measurements, and of lists.

`matchers`, `captioners`, `encoders` and `parts` (parser, proposals, grounder) train or change one
thing each. `analysis` measures a checkpoint or looks inside it, `probabilities` calibrates it,
`judging` compares a search with judgements, `results` writes the results page, `words` writes
lists. `options` has what they share.
As in app.cli, a command imports what it needs when it runs.
"""

from __future__ import annotations

import typer

from training.cli import (
    analysis,
    captioners,
    judging,
    labels,
    matchers,
    parts,
    probabilities,
    results,
    words,
)
from training.cli import encoders as adopting

app = typer.Typer(no_args_is_help=True, help="Train and evaluate matchers.")
app.command()(matchers.train)
app.command(name="average")(matchers.write_average)
app.command()(matchers.blend)
app.command(name="reproduce")(results.reproduce_rows)
app.command(name="report")(results.write_report)
app.command()(matchers.scenes)
app.command()(captioners.train_captioner)
app.command()(captioners.add_kinds)
app.command()(captioners.add_endings)
app.command()(captioners.evaluate_regions)
app.command()(parts.train_parser)
app.command()(parts.evaluate_parser)
app.command()(parts.train_proposals)
app.command()(parts.extract_backbone)
app.command()(parts.train_grounder)
app.command()(adopting.adopt)
app.command()(adopting.tune)
app.command()(analysis.evaluate)
app.command()(probabilities.calibrate)
app.command()(labels.add_presence)
app.command()(labels.evaluate_labels)
app.command(name="magnitudes")(analysis.show_magnitudes)
app.command(name="compositions")(analysis.show_compositions)
app.command(name="regions")(analysis.show_regions)
app.command()(judging.judge)
app.command()(words.class_names)
app.command()(words.lexicon)
