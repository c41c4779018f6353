"""Catalogues: photos with fields such as kind or colour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from index import trec as judgements
from training.data import jsonl, tables, templates
from training.data import readers as folders
from training.data.corpus import Corpus, Example, split_of, text_of
from training.data.digests import digest
from training.data.templates import Roles

GROUPS = ("group", "group_id", "item_group_id", "parent", "parent_id", "image")
VAL = 0.1  # the share of groups that a catalogue without splits is validated on

Clicks = Mapping[str, Sequence[tuple[str, float]]]  # queries of a product's id, and their weights


@dataclass(frozen=True, slots=True)
class CatalogueCorpus:
    """A catalogue with texts to learn, and the roles of its fields."""

    corpus: Corpus
    roles: Roles
    measured: int = 0  # photos of other splits that were in train as well, and are left out there

    def describe(self) -> str:
        """Describe the catalogue as it was read, for the user to check."""
        counts = {split: len(examples) for split, examples in self.corpus.splits.items()}
        photos = ", ".join(f"{count:,} of {split}" for split, count in sorted(counts.items()))
        longest = max(self.corpus.splits["train"], key=lambda example: len(example.sentences))
        texts = "; ".join(longest.sentences[:12])
        if self.measured:
            photos += f"; {self.measured:,} left out of train, which other splits have, too"
        return f"photos: {photos}\n{self.roles}\ntexts of {longest.id}: {texts}"


def read(path: Path, images: Path | None = None) -> Corpus:
    """Read photos and fields from a file, or a corpus.

    The file is a .jsonl, a .csv or a .tsv; the corpus is one of `folders`.

    A row has an `image`; `id`, `split` and all other keys are optional. Other keys and the keys of
    a `metadata` object are the photo's fields. A row without a split belongs to val. Ids are unique
    within a split; a photo may be in several splits, as nothing is learned from them. Raises
    LookupError for a path without a corpus, ValueError, with the place, for a bad row.
    """
    file = path if path.is_file() else folders.find_corpus(path)
    if file.suffix not in (".jsonl", *tables.SUFFIXES):
        return folders.read_all(file, images)
    name = file.resolve().parent.name
    rows = [(split or "val", example) for split, example in read_rows(file, images)]
    splits: dict[str, tuple[Example, ...]] = {}
    for split in dict(rows):
        splits |= Corpus.of(name, (row for row in rows if row[0] == split)).splits
    return Corpus(name, splits)


def training_corpus(
    path: Path,
    images: Path | None = None,
    fields: Sequence[str] = (),
    clicks: Path | None = None,
) -> CatalogueCorpus:
    """Read a catalogue as a corpus, with texts of its fields.

    `clicks` is a file of products' queries with weights; a text of the fields weighs 1. Rows
    without a split are divided by groups of products, so that train has no variant of a product in
    val. LookupError for an unknown field, or if no query is about one of the products.
    """
    file = path if path.is_file() else folders.find_corpus(path)
    rows = [(split or choose_split(example), example) for split, example in read_rows(file, images)]
    guessed = templates.guess_roles(
        [example for split, example in rows if split == "train"], fields
    )
    learnable = drop_measured(rows)
    queries = read_queries(clicks, {example.id for _, example in learnable}) if clicks else {}
    learned = [(split, add_texts(example, guessed, queries)) for split, example in learnable]
    corpus = Corpus.of(file.resolve().parent.name, learned)
    return CatalogueCorpus(corpus, guessed, len(rows) - len(learnable))


def drop_measured(rows: Sequence[tuple[str, Example]]) -> list[tuple[str, Example]]:
    """Drop train's photos of other splits.

    A measurement on learned photos says nothing of new ones.
    """
    measured = {example.image for split, example in rows if split != "train"}
    return [row for row in rows if row[0] != "train" or row[1].image not in measured]


def read_queries(clicks: Path, ids: set[str]) -> Clicks:
    """Read the queries of products and their weights, without those of weight 0.

    Weights of repeated rows add up, as those of clicks.
    """
    weights: dict[tuple[str, str], float] = {}
    for row in judgements.read(clicks):
        pair = row.id, row.query.lower()
        weights[pair] = weights.get(pair, 0.0) + row.value
    if not any(weight > 0 for weight in weights.values()):
        raise ValueError(f"{clicks} has no weight above 0, so no query counts")
    queries: dict[str, list[tuple[str, float]]] = {}
    for (id_, query), weight in weights.items():
        if weight > 0:
            queries.setdefault(id_, []).append((query, weight))
    if not ids & queries.keys():
        raise LookupError(
            f"{clicks} has no id of the catalogue, the first is {next(iter(queries))}"
        )
    return queries


def add_texts(example: Example, roles: Roles, clicks: Clicks) -> Example:
    """Add the texts of a photo's fields, with weight 1, and its queries."""
    field_texts = dict.fromkeys(templates.make_texts(example.metadata, roles), 1.0)
    queries = dict(clicks.get(example.id, ()))
    weights = field_texts | queries
    kind = templates.value(example.metadata, roles.kinds[0]) if roles.kinds else ""
    terms = dict.fromkeys([*templates.list_terms(example.metadata, roles), *queries])
    return replace(
        example,
        sentences=tuple(weights),
        weights=tuple(weights.values()),
        kind=kind,
        terms=tuple(terms),
        group=group_of(example),
    )


def choose_split(example: Example) -> str:
    """Train or val, by the group of a product."""
    return "val" if int(digest(group_of(example)), 16) % 1000 < 1000 * VAL else "train"


def group_of(example: Example) -> str:
    """The group of a product, or its photo if it has none."""
    return next(str(example.metadata[key]) for key in GROUPS if key in example.metadata)


def read_rows(file: Path, images: Path | None) -> Iterator[tuple[str | None, Example]]:
    """Each row's split, if it has one, and photo."""
    folder = images or file.parent
    if file.suffix in tables.SUFFIXES:
        return tables.read_rows(file, lambda cells: parse_cells(cells, folder))
    return jsonl.read_rows(file, folder, parse_row)


def parse_cells(cells: Mapping[str, str], folder: Path) -> tuple[str | None, Example]:
    """Parse a table's row, without its empty cells."""
    tables.refuse_bad_text(cells.get("image", ""), "image")
    return parse_row({key: cell for key, cell in cells.items() if cell}, folder)


def parse_row(row: dict[str, Any], folder: Path) -> tuple[str | None, Example]:
    """Parse one row's split and photo; ValueError names its mistake."""
    image = text_of(row, "image")
    name = image if row.get("id") in (None, "") else str(row["id"])
    fields = {**row, **jsonl.metadata_of(row)}
    split = split_of(row) if "split" in row else None
    return split, Example(name, folder / image, (), fields)
