"""Negation: the excluded phrases of a text, by rules over its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from models.text.lexicon import DETERMINERS, is_function_word, plain, split_words
from models.types import ParsedSentence, Span

NEGATIONS = split_words("without no not n't nt never neither nor")
SHORTENED = split_words("ca wo sha ai")  # auxiliaries before "n't": can, will, shall, is
ALTERNATIVES = split_words("or nor")  # "no cats or dogs": each alternative is negated
MINUS = re.compile(r"(?<!\S)[-\u2212\u2013](?=[^\W\d_])")  # "-person" in "kitchen -person"
BREAK = re.compile(r"[,.;:!?()\n]")  # a phrase ends here
# Words that negate and name at once, and what they name.
NOBODY = re.compile(r"\b(?:nobody|no[ -]one)\b", re.IGNORECASE)
PEOPLE = "people"
# What says "without" or "no" in other languages, whose grammar no rule here knows.
UNREAD = split_words(
    "ohne kein keine keinen keinem keiner nicht sin ningún ninguna sans aucun aucune senza nessun "
    "nessuna sem nenhum nenhuma zonder geen uten utan uden ilman bez без нет 没有 沒有 なし ない "
    "없는 بدون बिना olmadan nélkül không"
)


@dataclass(frozen=True, slots=True)
class Negated:
    """A negated phrase: text[span], or `named` instead.

    `words` are the numbers of all words of the negation: the phrase, the negating word, and
    function words without a meaning of their own ("there are" of "there are no dogs", "on it" of
    "nobody on it").
    """

    span: Span
    words: frozenset[int]
    named: str | None = None

    def phrase(self, text: str) -> str:
        """The excluded phrase."""
        return self.named or text[self.span.start : self.span.end]


def negations(sentence: ParsedSentence) -> list[Negated]:
    """The negated phrases of a text, in its order.

    A minus right before a word negates it. A negation ("without", "no", "not", "n't", "never",
    "neither") reaches over the function words after it to the next run of content words. The run
    goes on behind "of", and behind a determiner that follows a word in "-ing" ("not wearing a
    hat"). "or" and "nor" begin another negated phrase, after "without" also "and" without a
    determiner behind it. Punctuation ends everything.
    """
    phrases: list[Negated] = []
    at = 0
    while at < len(sentence.words):
        spoken = list(
            negate_minus(sentence, at) or negate_people(sentence, at) or negate_after(sentence, at)
        )
        phrases += spoken
        at = max([at, *(max(negated.words) for negated in spoken)]) + 1
    return phrases


def list_unread(sentence: ParsedSentence) -> list[str]:
    """The negating words of other languages than English in a text."""
    return [word.text for word in sentence.words if word.text.lower() in UNREAD]


def negate_minus(sentence: ParsedSentence, at: int) -> list[Negated]:
    """A word with a minus: "-person"."""
    word, text = sentence.words[at].span, sentence.text
    start = word.start if text[word.start].isalnum() else word.start + 1
    if not MINUS.match(text, max(start - 1, 0)):
        return []
    return [Negated(Span(start, word.end), frozenset({at}))]


def negate_people(sentence: ParsedSentence, at: int) -> list[Negated]:
    """A negation of people in one word: "nobody", "no one"."""
    words = sentence.words
    match = NOBODY.match(sentence.text, words[at].span.start)
    if match is None:
        return []
    end = next((i for i in range(at, len(words)) if words[i].span.start >= match.end()), len(words))
    around = leading(sentence, at) | trailing(sentence, end)
    return [Negated(Span(*match.span()), frozenset({*range(at, end), *around}), PEOPLE)]


def negate_after(sentence: ParsedSentence, at: int) -> Iterator[Negated]:
    """The phrases negated by the word at `at`, if it is a negation."""
    words = sentence.words
    if plain(words[at].text) not in NEGATIONS:
        return
    start, led = at + 1, {at} | leading(sentence, at)
    while True:
        first = content_from(sentence, start)
        if first is None:
            return
        end = run_end(sentence, first)
        yield Negated(
            Span(words[first].span.start, words[end - 1].span.end),
            frozenset(led | set(range(start, end)) | trailing(sentence, end)),
        )
        if not goes_on(sentence, at, end):
            return
        start, led = end + 1, {end}


def leading(sentence: ParsedSentence, at: int) -> set[int]:
    """The function words before a negation, meaningless without its phrase."""
    led: set[int] = set()
    while at > 0 and is_joined(sentence, at - 1) and is_function(sentence, at - 1):
        at -= 1
        led.add(at)
    return led


def trailing(sentence: ParsedSentence, end: int) -> set[int]:
    """The function words behind a negated phrase, unless a content word follows."""
    led: set[int] = set()
    while end < len(sentence.words) and is_joined(sentence, end - 1):
        if not is_function(sentence, end):
            return set()
        led.add(end)
        end += 1
    return led


def content_from(sentence: ParsedSentence, start: int) -> int | None:
    """The next content word from a place on, before punctuation."""
    for at in range(start, len(sentence.words)):
        if not is_joined(sentence, at - 1):
            return None
        if not is_function(sentence, at):
            return at
    return None


def is_function(sentence: ParsedSentence, at: int) -> bool:
    """Return whether a word is a function word, or what "n't" leaves of one: "wo", "ca"."""
    words = sentence.words
    if is_function_word(words[at].text):
        return True
    shortened = plain(words[at].text) in SHORTENED and at + 1 < len(words)
    return shortened and plain(words[at + 1].text) in ("n't", "nt")


def run_end(sentence: ParsedSentence, first: int) -> int:
    """The end of a phrase from its first content word: past its last."""
    words, end = sentence.words, first + 1
    while end < len(words) and is_joined(sentence, end - 1):
        word = plain(words[end].text)
        if not is_function_word(words[end].text):
            end += 1
        elif word == "of" or (word in DETERMINERS and words[end - 1].text.lower().endswith("ing")):
            following = content_from(sentence, end)
            if following is None:
                break
            end = following + 1
        else:
            break
    return end


def goes_on(sentence: ParsedSentence, negation: int, end: int) -> bool:
    """Return whether the next word adds another phrase: "or", "nor", "and"."""
    words = sentence.words
    if end >= len(words) or not is_joined(sentence, end - 1):
        return False
    word = plain(words[end].text)
    if word in ALTERNATIVES:
        return True
    bare = end + 1 < len(words) and not is_function_word(words[end + 1].text)
    return word == "and" and plain(words[negation].text) == "without" and bare


def is_joined(sentence: ParsedSentence, at: int) -> bool:
    """Return whether there is no punctuation after a word."""
    words = sentence.words
    if at + 1 >= len(words):
        return False
    between = sentence.text[words[at].span.end : words[at + 1].span.start]
    return not BREAK.search(between)
