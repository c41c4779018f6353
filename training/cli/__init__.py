"""The commands of training: of matchers, of parts, of analyses, and of lists of words.

As in app.cli, a command imports what it needs when it runs.
"""

from __future__ import annotations

import typer

from training.cli import analysis, judging, matchers, parts, words
from training.cli import encoders as adopting

app = typer.Typer(no_args_is_help=True, help="Train and evaluate matchers.")
app.command()(matchers.train)
app.command(name="average")(matchers.write_average)
app.command(name="reproduce")(matchers.reproduce_rows)
app.command(name="report")(matchers.write_report)
app.command()(matchers.scenes)
app.command()(parts.train_captioner)
app.command()(parts.add_kinds)
app.command()(parts.add_endings)
app.command()(parts.evaluate_regions)
app.command()(parts.train_parser)
app.command()(parts.evaluate_parser)
app.command()(parts.train_proposals)
app.command()(parts.extract_backbone)
app.command()(parts.train_grounder)
app.command()(adopting.adopt)
app.command()(adopting.tune)
app.command()(analysis.evaluate)
app.command()(analysis.calibrate)
app.command(name="magnitudes")(analysis.show_magnitudes)
app.command(name="compositions")(analysis.show_compositions)
app.command(name="regions")(analysis.show_regions)
app.command()(judging.judge)
app.command()(words.class_names)
app.command()(words.lexicon)
