"""Training and measurement of the parser on a CoNLL-U treebank."""

from __future__ import annotations

import gzip
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import spacy
import srsly
from safetensors import safe_open
from spacy import registry
from spacy.language import Language
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_pipeline
from spacy.vectors import Vectors
from spacy.vocab import Vocab
from thinc.api import use_ops

from models import shipped
from models.text.parsing import parser
from models.text.words import minilm_folder, minilm_tokenizer
from models.whole_files import BROKEN_GZIP

CONFIG = Path(__file__).parent.parent / "presets/parser.cfg"
NO_OVERRIDES: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Tree:
    """A sentence of a treebank, one entry a word.

    A root is its own head.
    """

    words: tuple[str, ...]
    spaces: tuple[bool, ...]
    tags: tuple[str, ...]
    lemmas: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]


def read(path: Path) -> Iterator[Tree]:
    """Read the trees of a CoNLL-U file, gzipped or not.

    Tags are its XPOS. ValueError names a file of another format.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig") as file:
            for block in file.read().strip().split("\n\n"):
                rows = [row.split("\t") for row in block.splitlines() if not row.startswith("#")]
                yield make_tree([row for row in rows if row[0].isdigit()])
    except (ValueError, *BROKEN_GZIP) as wrong:
        raise ValueError(f"{path} is no CoNLL-U file: {wrong}") from wrong


def make_tree(rows: list[list[str]]) -> Tree:
    """Make the tree of a sentence's rows, one a word.

    Rows have CoNLL-U's ten columns.
    """
    _, words, lemmas, _, tags, _, heads, relations, _, misc = zip(*rows, strict=True)
    above = (int(head) - 1 for head in heads)
    return Tree(
        words,
        tuple("SpaceAfter=No" not in note for note in misc),
        tags,
        lemmas,
        tuple(position if head < 0 else head for position, head in enumerate(above)),
        relations,
    )


def imitate_caption(tree: Tree, chance: random.Random) -> Tree:
    """Drop the final full stop and the case at times."""
    last = len(tree.words) - 1
    if tree.words[last] == "." and last not in tree.heads and chance.random() < 0.3:
        tree = Tree(*(getattr(tree, part)[:last] for part in Tree.__slots__))
    if chance.random() < 0.15:
        tree = replace(
            tree,
            words=tuple(word.lower() for word in tree.words),
            lemmas=tuple(lemma.lower() for lemma in tree.lemmas),
        )
    return tree


@registry.readers("tessera.treebank.v1")  # type: ignore[untyped-decorator]  # spaCy's
def treebank(
    path: Path, like_captions: bool = False, seed: int = 0
) -> Callable[[Language], Iterator[Example]]:
    """Read a treebank's gold tokens as spaCy's examples, one a sentence."""

    def examples(nlp: Language) -> Iterator[Example]:
        chance = random.Random(seed)  # noqa: S311 (augments, guards nothing)
        for plain in read(Path(path)):
            tree = imitate_caption(plain, chance) if like_captions else plain
            words, spaces = list(tree.words), list(tree.spaces)
            gold = Doc(
                nlp.vocab,
                words,
                spaces,
                tags=list(tree.tags),
                lemmas=list(tree.lemmas),
                heads=list(tree.heads),
                deps=[relation if relation != "root" else "ROOT" for relation in tree.relations],
            )
            yield Example(Doc(nlp.vocab, words, spaces), gold)

    return examples


@registry.callbacks("tessera.minilm_vectors.v1")  # type: ignore[untyped-decorator]  # spaCy's
def minilm_vectors(most: int, width: int) -> Callable[[Language], Language]:
    """Give a pipeline vectors of words: the principal parts of MiniLM's embeddings."""

    def give(nlp: Language) -> Language:
        indices = minilm_tokenizer().get_vocab()
        whole_words = sorted(
            (index, word)
            for word, index in indices.items()
            if not word.startswith(("##", "[")) and word.isascii()
        )[:most]
        with safe_open(minilm_folder() / "model.safetensors", "numpy") as weights:
            table = weights.get_tensor("embeddings.word_embeddings.weight")
        table = table[[index for index, _ in whole_words]].astype(np.float32)
        table -= table.mean(0)
        principal = table @ np.linalg.svd(table, full_matrices=False)[2][:width].T
        principal /= principal.std()
        nlp.vocab.vectors = Vectors(
            strings=nlp.vocab.strings,
            data=principal,
            keys=[nlp.vocab.strings.add(word) for _, word in whole_words],
            name="minilm",
            attr="LOWER",
        )
        return nlp

    return give


def train(
    folder: Path, out: Path, seed: int = 0, overrides: Mapping[str, Any] = NO_OVERRIDES
) -> None:
    """Train the pipeline of presets/parser.cfg on a treebank, and write it.

    Split dev chooses the stored step. The same seed gives the same pipeline. Overrides are by name,
    such as "training.max_steps". Raises LookupError where the folder lacks *-train.conllu or
    *-dev.conllu, gzipped or not.
    """
    paths = {f"paths.{split}": str(split_file(folder, split)) for split in ("train", "dev")}
    config = spacy.util.load_config(CONFIG, paths | {"system.seed": seed} | dict(overrides))
    with tempfile.TemporaryDirectory() as steps, use_ops("numpy", use_blis=False):
        train_pipeline(init_nlp(config), Path(steps), stdout=sys.stderr)
        write(spacy.load(Path(steps) / "model-best"), out)


def write(nlp: Language, out: Path) -> None:
    """Write a trained pipeline to a small folder."""
    nlp.config["paths"].update(train=None, dev=None)  # of this machine
    nlp.meta.update(name="tessera_parser", license="CC BY-SA 4.0")
    spell_out(nlp.vocab)
    nlp.to_disk(out)
    srsly.write_json(out / "vocab/strings.json", sorted(strings_in_use(nlp)))


def spell_out(vocab: Vocab) -> None:
    """Give "Dog" and "DOG" the vector of "dog".

    spaCy stores exact keys.
    """
    vectors = vocab.vectors
    for key, row in list(vectors.key2row.items()):
        for spelling in (vocab.strings[key].capitalize(), vocab.strings[key].upper()):
            vectors.add(get_string_id(spelling), row=row)


def strings_in_use(nlp: Language) -> set[str]:
    """Collect the strings of a pipeline's answers: labels, and parts of lemmas.

    Training also leaves the treebank's words, which nothing looks up.
    """
    labels = {label for name in ("tagger", "parser") for label in nlp.get_pipe(name).labels}
    nodes = srsly.msgpack_loads(nlp.get_pipe("trainable_lemmatizer").trees.to_bytes())["trees"]
    parts = {node[side] for node in nodes for side in ("orig", "subst") if side in node}
    return labels | {nlp.vocab.strings[part] for part in parts}


def split_file(folder: Path, split: str) -> Path:
    """The CoNLL-U file of a split; LookupError if there is none."""
    files = sorted(folder.glob(f"*-{split}.conllu*"))
    if not files:
        raise LookupError(f"{folder} has no file *-{split}.conllu or *-{split}.conllu.gz")
    return files[0]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Percent of right words of a treebank: tags, lemmas, heads (UAS), relations (LAS)."""

    words: int
    tags: float
    lemmas: float
    uas: float
    las: float
    uas_without_punctuation: float
    las_without_punctuation: float

    def __str__(self) -> str:
        return (
            f"{self.words:,} words: tags {self.tags:.2f}, lemmas {self.lemmas:.2f}, "
            f"UAS {self.uas:.2f}, LAS {self.las:.2f}; without punctuation "
            f"UAS {self.uas_without_punctuation:.2f}, LAS {self.las_without_punctuation:.2f}"
        )


def evaluate(file: Path, pipeline: Path = shipped.PARSER) -> Accuracy:
    """Compare a pipeline's trees with a treebank's.

    On its gold tokens and sentences.
    """
    nlp = parser(str(pipeline))
    examples = list(treebank(file)(nlp))
    docs = nlp.pipe(example.predicted for example in examples)
    pairs = [
        pair
        for doc, example in zip(docs, examples, strict=True)
        for pair in zip(doc, example.reference, strict=True)
    ]
    right = np.array(
        [
            (
                predicted.tag_ == true.tag_,
                predicted.lemma_.lower() == true.lemma_.lower(),
                predicted.head.i == true.head.i,
                predicted.head.i == true.head.i and predicted.dep_ == true.dep_,
            )
            for predicted, true in pairs
        ]
    )
    is_word = np.array([true.dep_ != "punct" for _, true in pairs])
    shares = *right.mean(0), *right[is_word, 2:].mean(0)
    return Accuracy(len(pairs), *(100 * float(share) for share in shares))
