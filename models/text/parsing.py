"""Parsing: the words of a text and their dependencies; the only import of spaCy in models.

spaCy is imported when it is first needed: a process that searches rows alone parses nothing.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from models import shipped
from models.text.limits import MOST_WORDS, cut_runs, refuse_huge
from models.text.segmentation import divide, guess_language, is_spaceless
from models.towers import TextReader
from models.types import ParsedSentence, Span, Word

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

NO_HEAD = -1
SHORT = 1_000  # characters of a text whose words are remembered


class Placed(NamedTuple):
    """A token, and where it starts in the text."""

    token: Token
    start: int


chosen = str(shipped.PARSER)  # the pipeline that `choose` sets
turn = Lock()  # a pipeline forgets the words it met between two turns


@cache
def tokenizer() -> Language:
    """The rule-based English tokenizer, made once."""
    import spacy

    return spacy.blank("en")


def choose(pipeline: str | Path) -> None:
    """Parse with another spaCy pipeline from now on: an installed package's name, or a folder.

    Raises LookupError if there is none, and ValueError if it does not parse.
    """
    global chosen  # of the process, as spaCy's registry is
    parser(str(pipeline))
    chosen = str(pipeline)


@cache
def parser(pipeline: str) -> Language:
    """The pipeline of a name or a folder, loaded once.

    From then on numpy's products run on one thread: the parser's are so small that threads would
    wait for each other far longer than they compute, and searches run on threads of their own.
    """
    import spacy
    from thinc.api import use_ops
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1, user_api="blas")
    # numpy's own products are up to four times faster than BLIS on processors it does not know.
    with use_ops("numpy", use_blis=False):
        nlp = spacy.load(folder(pipeline), exclude=["ner", "senter"])
    if "parser" not in nlp.pipe_names:
        raise ValueError(f"the pipeline {pipeline} has no parser, only {nlp.pipe_names}")
    return nlp


def folder(pipeline: str) -> Path:
    """Where the files of a pipeline are."""
    if Path(pipeline).is_dir():
        return Path(pipeline)
    import spacy

    if spacy.util.is_package(pipeline):
        return Path(spacy.util.get_package_path(pipeline))
    raise LookupError(
        f"no spaCy pipeline {pipeline!r}; name a folder or an installed package: en_core_web_sm"
    )


def parser_key() -> str:
    """A name that changes whenever the trees of `parse_trees` could."""
    return digest(chosen)


def require(key: str) -> None:
    """ValueError if what was learned is of another parser's trees; an empty key fits every parser.

    Relations are parsers' own: those of another one would pass for rare ones, unnoticed.
    """
    if key and key != parser_key():
        raise ValueError(
            f"the matcher learned from trees of parser {key}, and {chosen} is {parser_key()}: "
            "choose the pipeline that it learned from (--parser, TESSERA_PARSER), or train it again"
        )


@cache
def digest(pipeline: str) -> str:
    """What the files of a pipeline hash to, in 16 digits."""
    root, total = folder(pipeline), hashlib.sha256()
    for file in sorted(root.rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            total.update(f"{file.relative_to(root)} {file.stat().st_size} ".encode())
            total.update(file.read_bytes())
    return total.hexdigest()[:16]


@contextmanager
def forgetting(nlp: Language) -> Iterator[None]:
    """One thread's turn with a pipeline, after which its vocabulary is as small as before.

    It would keep every word ever met. spaCy's objects from inside are freed, so they must stay
    inside.
    """
    with turn, nlp.memory_zone():
        yield


def parse(text: str) -> ParsedSentence:
    """Split a text into words; punctuation is no word.

    Short texts are remembered: those of queries are read, corrected and embedded one after another.
    Raises ValueError for a text without a word, or over the limits of models.text.limits. A long
    run without spaces is read as several, see models.text.limits.cut_runs. Runs of scripts without
    spaces are divided (models.text.segmentation), in a text of at most MOST_WORDS words then.
    """
    return remember_words(text) if len(text) <= SHORT else split_words(text)


def split_words(text: str) -> ParsedSentence:
    """Split a text into words, see `parse`."""
    refuse_huge(text)
    with forgetting(tokenizer()):
        runs = [(start, t.text) for t, start in tokens(tokenizer(), text) if is_word(t)]
    words = runs
    if any(is_spaceless(run) for _, run in runs):
        language = guess_language(text)
        divided = chain.from_iterable(divide_run(*run, language) for run in runs)
        words = list(islice(divided, MOST_WORDS + 1))
    if len(words) > MOST_WORDS:
        words = runs
    placed = (Word(word, Span(start, start + len(word))) for start, word in words)
    return ParsedSentence(text, tuple(placed))


remember_words = lru_cache(maxsize=256)(split_words)


def divide_run(start: int, run: str, language: str) -> Iterator[tuple[int, str]]:
    """The words of a run at a place; itself, if its script has spaces."""
    if not is_spaceless(run):
        yield start, run
        return
    for place, word in divide(run, language):
        yield start + place, word


class SentenceReader(TextReader):
    """A reader of words, without trees."""

    def parse(self, texts: Sequence[str]) -> list[ParsedSentence]:
        """Split texts into words."""
        return [parse(text) for text in texts]


def parse_trees(texts: Sequence[str]) -> list[ParsedSentence]:
    """The words of `parse` with tags, lemmas, heads and relations: every text is one tree.

    Tags are the Penn Treebank's. Relations are those of Universal Dependencies, "root" at the one
    word whose head is -1; a pipeline en_core_web_* gives ClearNLP's ("dobj" for "obj"). What hung
    on punctuation hangs on the nearest word above it, and further roots on the first one, as its
    "parataxis". Errors are those of `parse`.
    """
    for text in texts:
        refuse_huge(text)
    nlp = parser(chosen)
    with forgetting(nlp):
        placed_lists = [tokens(nlp, text) for text in texts]
        docs = nlp.pipe(
            [without_spaces(nlp, [token for token, _ in placed]) for placed in placed_lists]
        )
        return [
            ParsedSentence(text, tree(doc, [start for _, start in placed]))
            for text, placed, doc in zip(texts, placed_lists, docs, strict=True)
        ]


def tokens(nlp: Language, text: str) -> list[Placed]:
    """Words and punctuation of a text; ValueError if it has no word, or too many."""
    spaced, cuts = cut_runs(text)
    placed = [
        Placed(token, token.idx - bisect_left(cuts, token.idx))
        for token in nlp.make_doc(spaced)
        if not token.is_space
    ]
    count = sum(is_word(token) for token, _ in placed)
    if not count:
        raise ValueError("the text has no words, which have letters or digits")
    if count > MOST_WORDS:
        raise ValueError(f"the text has {count} words; send at most {MOST_WORDS}")
    return placed


def is_word(token: Token) -> bool:
    """Whether a token has a letter or a digit."""
    return any(character.isalnum() for character in token.text)


def without_spaces(nlp: Language, token_list: Sequence[Token]) -> Doc:
    """Tokens as parsers learn them: a treebank has none of white space."""
    from spacy.tokens import Doc

    doc = Doc(nlp.vocab, [t.text for t in token_list], [bool(t.whitespace_) for t in token_list])
    for token, original in zip(doc, token_list, strict=True):
        token.norm_ = original.norm_  # the tokenizer's: "not" for "n't"
    return doc


def tree(doc: Doc, starts: Sequence[int]) -> tuple[Word, ...]:
    """The words of a parsed text as one tree; starts are where its tokens begin in the text."""
    word_tokens = [token for token in doc if is_word(token)]
    places = {token.i: place for place, token in enumerate(word_tokens)}
    above = [
        next((places[a.i] for a in token.ancestors if a.i in places), NO_HEAD)
        for token in word_tokens
    ]
    root = above.index(NO_HEAD)
    words = []
    for place, (token, head) in enumerate(zip(word_tokens, above, strict=True)):
        start, relation = starts[token.i], token.dep_
        if head == NO_HEAD:
            head, relation = (root, "parataxis") if place != root else (NO_HEAD, "root")
        span = Span(start, start + len(token.text))
        words.append(Word(token.text, span, token.tag_, token.lemma_, head, relation))
    return tuple(words)
