"""Reading of product queries: wishes, refusals, and the text for photos."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from index.documents.corrections import MOST_CORRECTED
from index.documents.documents import Documents, is_named
from index.documents.lacks import ADDED
from index.documents.languages.english import ENGLISH
from index.documents.languages.word_language import WordLanguage
from index.documents.query_words import QueryWord, Wording
from index.documents.words import WrittenWord, read_words, tokens
from models.text.lexicon import is_known, plain, split_words
from models.text.limits import MOST_WORDS, refuse_huge
from models.text.negation import NEGATIONS, UNREAD, Negated, negations
from models.text.parsing import parse
from models.text.reading import blank
from models.types import ParsedSentence, Span

NAMING = split_words(
    "no not never"
)  # negations that names have: "no show socks", "not from concentrate"
# Not every "n't": titles begin with it ("Don't Starve").
CONTRACTED = re.compile(r"\b(?:that|which) (?:are|did|do|does|had|has|have|is|was|were)n't\b")
# "-leather" in "sofa -leather"; before a digit it is the sign of a number.
MINUS = re.compile(r"""(?<!\S)-(?:["“][^"”]+["”]|(?=[^\W\d])\S+)""")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Words to refuse: no item may have all in a field.

    lacking: what items say that lack it.
    """

    words: tuple[QueryWord, ...]
    lacking: QueryWord | None = None

    @property
    def span(self) -> Span:
        """Its place in the text."""
        return Span(self.words[0].start, self.words[-1].end)


@dataclass(frozen=True, slots=True)
class ProductText:
    """A text as understood; all spans point into `text`, as typed.

    asked: its words. refused: what no item may have. corrected: what a photo is asked for, with
    spellings as they are known. unknown: words that no item has. unsaid: the text as it was typed,
    where it has an English word that no item has; sentences are asked for this, as they may say it
    in other words. names: what items are named that reads like a negation. checked: whether every
    unknown word was compared with those that items have.
    """

    text: str
    asked: tuple[QueryWord, ...] = ()
    refused: tuple[Refusal, ...] = ()
    corrected: str = ""
    unknown: tuple[str, ...] = ()
    unsaid: str | None = None
    names: tuple[str, ...] = ()
    checked: bool = True
    unread: tuple[str, ...] = ()

    @property
    def only_refuses(self) -> bool:
        """Whether it refuses words, and asks for none."""
        return bool(self.refused) and not self.asked

    @property
    def refused_words(self) -> tuple[QueryWord, ...]:
        """The words of all refusals."""
        return tuple(word for refusal in self.refused for word in refusal.words)

    @property
    def lacking(self) -> tuple[QueryWord, ...]:
        """The names of refused lacks; items with these come first."""
        return tuple(refusal.lacking for refusal in self.refused if refusal.lacking)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the searching person."""
        words = {word.start: word for word in (*self.asked, *self.refused_words)}
        typed = {start: self.text[start : word.end] for start, word in words.items()}
        notes = [
            f'"{typed[start]}" is taken for "{word.spelling}".'
            for start, word in words.items()
            if word.spelling is not None
        ]
        notes += [f'"{word}" is in no item.' for word in self.unknown]
        if not self.checked:
            notes.append(f"No more than {MOST_CORRECTED} unknown words are corrected.")
        notes += [f'Items are named "{name}": it is searched for.' for name in self.names]
        notes += [f'"{word}" leaves nothing out; a minus does.' for word in self.unread]
        refused = dict.fromkeys(_cut(self.text, refusal.span) for refusal in self.refused)
        return (*notes, *(f'Items with "{word}" are left out.' for word in refused))


@dataclass(frozen=True, slots=True)
class NegatedPhrase:
    """A negated phrase, and all its words.

    name: the negation and the word behind it; None where no name begins so.
    """

    phrase: Span
    words: tuple[Span, ...]
    name: tuple[Span, Span] | None

    def first_word(self, text: str) -> NegatedPhrase:
        """The negation of its first word, "sugar" in "no sugar gum"."""
        ends = [
            token.end
            for token in tokens(text, self.phrase.start, self.phrase.end)
            if ENGLISH.is_content(token.folded) and token.folded not in ADDED
        ]
        phrase = Span(self.phrase.start, ends[0] if len(ends) > 1 else self.phrase.end)
        return NegatedPhrase(
            phrase, tuple(word for word in self.words if word.end <= phrase.end), self.name
        )


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a text besides the wish itself.

    minus: words behind a minus. denied: negated phrases. names: negations that items are named by,
    each with the word behind it. before: negations of a word before what is asked for.
    """

    text: str
    minus: tuple[Span, ...]
    denied: tuple[NegatedPhrase, ...]
    names: tuple[tuple[Span, Span], ...]
    before: tuple[NegatedPhrase, ...] = ()

    @classmethod
    def of(cls, text: str, documents: Documents) -> Parts:
        """The parts of a text, by the names of items."""
        minus = tuple(Span(match.start() + 1, match.end()) for match in MINUS.finditer(text))
        shown = _without_minus(text, minus)
        phrases = _find_negated(shown) if documents.language.negates else []
        names = tuple(
            phrase.name
            for phrase in phrases
            if phrase.name and is_named(documents, [_cut(text, span) for span in phrase.name])
        )
        denied = tuple(phrase for phrase in phrases if phrase.name not in names)
        parts = cls(text, minus, denied, names)
        if parts.asked.strip():
            return parts
        before = tuple(phrase.first_word(text) for phrase in denied)
        return replace(parts, denied=(), before=before) if before != denied else parts

    @property
    def asked(self) -> str:
        """The text without refused parts."""
        around = [span for negated in (*self.denied, *self.before) for span in negated.words]
        return blank(_without_minus(self.text, self.minus), around)

    @property
    def shown(self) -> str:
        """The text for photos without `apart`; a name negates nothing."""
        negations = [negation for negation, _ in self.names]
        around = [span for negated in self.before for span in negated.words]
        return blank(_without_minus(self.text, self.minus), [*negations, *around])

    @property
    def apart(self) -> tuple[Span, ...]:
        """The parts, for photos "without" them."""
        return (*self.minus, *(negated.phrase for negated in self.before))


def read_text(text: str, documents: Documents) -> ProductText:
    """Read a text with the words of documents; ValueError over limits.

    A word behind a minus, or in a phrase that is negated ("without leather"), is refused, unless
    items are named so ("no show socks"): then the negation is a word as others are. The documents'
    lock is held for moments alone.
    """
    refuse_huge(text)
    if (count := sum(len(word.tokens) for word in read_words(text))) > MOST_WORDS:
        raise ValueError(f"the text has {count:,} words; send at most {MOST_WORDS}")
    wording, parts = documents.wording(), Parts.of(text, documents)
    corrections = wording.corrections(text)
    asked = wording.read(parts.asked, corrections, {negation.start for negation, _ in parts.names})
    apart = [wording.read(text, corrections, {span.start}, span) for span in parts.apart]
    denied = [wording.read(text, corrections, within=part.phrase) for part in parts.denied]
    unknown = tuple(
        _cut(text, word)
        for word in asked
        if not any(each.compounds or wording.has(each.term) for each in word.alternatives)
    )
    english = documents.language.code == ENGLISH.code
    unsaid = english and any(_is_unsaid(text, word, unknown) for word in asked)
    shown = wording.correct(parts.shown, [*asked, *chain.from_iterable(denied)])
    spans = zip(parts.apart, apart, strict=True)
    behind = [wording.correct(_blank_around(text, span), words) for span, words in spans]
    typed = _with_minus(parts.shown, [_cut(text, span) for span in parts.apart])
    return ProductText(
        text,
        asked,
        tuple(_refuse(text, wording, words) for words in apart + denied if words),
        corrected=_with_minus(shown, behind),
        unknown=unknown,
        unsaid=typed if unsaid else None,
        names=tuple(text[negation.start : word.end] for negation, word in parts.names),
        checked=corrections.complete,
        unread=tuple(_list_unread(text, documents.language)),
    )


def _list_unread(text: str, language: WordLanguage) -> Iterator[str]:
    """Yield the unread negating words, in a collection of another language."""
    if not language.negates:
        written = (_cut(text, word) for word in read_words(text, language))
        yield from dict.fromkeys(word for word in written if word.lower() in UNREAD)


def _refuse(text: str, wording: Wording, words: tuple[QueryWord, ...]) -> Refusal:
    return Refusal(words, wording.read_lacking(text, words[0]) if len(words) == 1 else None)


def _with_minus(shown: str, behind: Sequence[str]) -> str:
    """Add refused words to the text for photos, as "without"."""
    return " ".join(f"{shown}{''.join(f' without {part}' for part in behind)}".split())


def _is_unsaid(text: str, word: QueryWord, unknown: Sequence[str]) -> bool:
    """Return whether no item has an English word as it stands."""
    typed = _cut(text, word)
    if not any(map(str.isalpha, typed)):
        return False
    halved = word.spelling is not None and " " in word.spelling
    return (typed in unknown or (word.spelling is not None and not halved)) and is_known(typed)


def _find_negated(text: str) -> list[NegatedPhrase]:
    """Find the negated phrases of a text."""
    typed = plain(text)
    if NEGATIONS.isdisjoint(re.findall(r"\w+", typed)) and not CONTRACTED.search(typed):
        return []
    sentence = parse(text)
    return [
        NegatedPhrase(
            negated.span,
            tuple(sentence.words[i].span for i in sorted(negated.words)),
            _name(sentence, negated),
        )
        for negated in negations(sentence)
        if not text[negated.span.start].isdigit()  # "no 5"
    ]


def _name(sentence: ParsedSentence, negated: Negated) -> tuple[Span, Span] | None:
    words = [sentence.words[i] for i in sorted(negated.words)]
    negation = next((word for word in words if plain(word.text) in NEGATIONS), None)
    if negation is None or plain(negation.text) not in NAMING or negated.named is not None:
        return None
    return negation.span, next(word.span for word in words if word.span.start == negated.span.start)


def _without_minus(text: str, minus: Sequence[Span]) -> str:
    return blank(text, [Span(span.start - 1, span.end) for span in minus])


def _cut(text: str, place: Span | QueryWord | WrittenWord) -> str:
    return text[place.start : place.end]


def _blank_around(text: str, span: Span) -> str:
    """A text of the same length with nothing but a part."""
    return " " * span.start + _cut(text, span)
