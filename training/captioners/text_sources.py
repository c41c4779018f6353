"""Sentences without photos: lines of a file, names of classes."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Set
from pathlib import Path

from models.text import classes
from models.whole_files import BROKEN_GZIP
from training.captioners.vocabulary import caption_words
from training.data.corpus import Corpus

ANIMAL = "animal"
ANY = ("a close up of {a}", "{a} in front of a plain background", "{a} seen from the side")
ALIVE = ("{a} looks at the camera", "{a} is outside in the grass", "{a} stands on the ground")
LIFELESS = ("{a} on a table", "{a} on a white background", "{a} lies on the ground")


def read_lines(file: Path) -> list[str]:
    """Read the non-empty lines of a text file, gzipped or not.

    LookupError for a missing file, ValueError for a file that is no text or has no sentence.
    """
    if not file.is_file():
        raise LookupError(f"{file} is no file: give one with a sentence a line")
    try:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        texts = [line.strip() for line in data.decode("utf-8-sig").splitlines()]
    except (*BROKEN_GZIP, UnicodeDecodeError) as wrong:
        raise ValueError(f"{file} is no text of a sentence a line: {wrong}") from wrong
    texts = [text for text in texts if caption_words(text)]
    if not texts:
        raise ValueError(f"{file} has no sentence")
    return texts


def drop_held_out(texts: Iterable[str], corpus: Corpus) -> list[str]:
    """Drop sentences of other splits, in any case or punctuation."""
    held_out = {
        tuple(caption_words(sentence))
        for split, examples in corpus.splits.items()
        if split != "train"
        for example in examples
        for sentence in example.sentences
    }
    return [text for text in texts if tuple(caption_words(text)) not in held_out]


def name_classes(vocabulary: Set[str]) -> list[str]:
    """Write plain sentences with ImageNet's classes and broader terms.

    So the captioner learns the names that a matcher may find, if all their words are known.
    """
    sentences: dict[str, None] = {}
    for levels in classes.names():
        alive = any(term == ANIMAL for level in levels for term in level)
        for level in levels:
            if not set(caption_words(level[0])) <= vocabulary:
                continue
            a = f"{'an' if level[0][0].lower() in 'aeiou' else 'a'} {level[0].lower()}"
            for template in (*ANY, *(ALIVE if alive else LIFELESS)):
                sentences[template.format(a=a)] = None
    return list(sentences)
