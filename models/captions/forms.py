"""Broken forms of captions, by the tags and relations of words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from models.registry import Caption
from models.text.lexicon import IRREGULAR, is_function_word, split_words
from models.text.parsing import parse_trees
from models.types import ParsedSentence, Word

ARTICLES = split_words("a an")
LEADING = split_words("a an the this that these those his her its their another every each")
JOINING = split_words("and but or as while that who which when where because if so though")
COLLECTIVES = split_words(
    "bunch couple crowd family flock group herd line lot number pair pile row set team"
)
NOUNS, FINITE = "NN", ("VBZ", "VBP", "VBD", "MD")
ENDS_PHRASE = (*FINITE, "IN", "TO", "WDT", "WP")  # tags of words that no noun phrase goes on with
SOUNDS_OTHERWISE = ("eu", "one", "uni", "use", "usu", "hour", "hon", "heir")
VOWELS = "aeiou"
MOST_JOINED = 2  # "and"s
ONE = split_words("one 1")
SINGULAR_VERBS, PLURAL_VERBS = ("is", "was"), ("are", "were")


def is_well_formed(tree: ParsedSentence) -> bool:
    """Whether a caption repeats no content word and has no broken form.

    >>> from models.text.parsing import parse_trees
    >>> texts = ["A dog on a dog", "A is is eating", "A man and a woman are sitting on a bench"]
    >>> [is_well_formed(tree) for tree in parse_trees(texts)]
    [False, False, True]
    """
    return bool(tree.words) and not any(broken(tree.words) for broken in BROKEN)


def keep_well_formed(captions: Sequence[Caption]) -> list[Caption]:
    """The captions without a broken form; those of no word are none."""
    texts = list(dict.fromkeys(caption.text for caption in captions if caption.words))
    sound = {tree.text for tree in parse_trees(texts) if is_well_formed(tree)}
    return [caption for caption in captions if caption.text in sound]


def repeats(words: Sequence[Word]) -> bool:
    """Whether a content word comes twice, or any word in a row.

    A singular and its plural are one word.

    Numbers in digits may.
    """
    content = [
        word.lemma.lower()
        for word in words
        if not is_function_word(word.text) and not word.text.isdigit()
    ]
    twice = any(a.text.lower() == b.text.lower() for a, b in pairwise(words))
    return twice or len(content) > len(set(content))


def lacks_noun(words: Sequence[Word]) -> bool:
    """Whether a determiner or a number is followed by no noun."""
    return any(not nouns for _, nouns in find_phrases(words))


def disagrees(words: Sequence[Word]) -> bool:
    """Whether a number lacks its plural, or "a" has an irregular one."""
    for leading, nouns in find_phrases(words):
        plurals = [noun for noun in nouns if noun.tag == "NNS" or noun.text.lower() in IRREGULAR]
        if leading.tag == "CD" and leading.text.lower() not in ONE and nouns and not plurals:
            return True
        if leading.text.lower() in ARTICLES and nouns and nouns[-1].text.lower() in IRREGULAR:
            return True
    return False


def find_phrases(words: Sequence[Word]) -> Iterator[tuple[Word, list[Word]]]:
    """Each determiner and number, with the nouns of its phrase."""
    for at, word in enumerate(words):
        counts = word.tag == "CD" and word.text.isalpha()
        leads = counts or word.text.lower() in LEADING
        if not leads or word.tag in ENDS_PHRASE:  # "that" as a conjunction
            continue
        nouns: list[Word] = []
        for following in words[at + 1 :]:
            is_noun = following.tag.startswith(NOUNS)
            if following.tag in ENDS_PHRASE or (nouns and not is_noun):
                break
            nouns += [following] if is_noun else []
        yield word, nouns


def has_wrong_article(words: Sequence[Word]) -> bool:
    """Whether "a" stands before a vowel, or "an" before none."""
    return any(
        (first.text.lower() == "an") != sounds_open(second.text.lower())
        for first, second in pairwise(words)
        if first.text.lower() in ARTICLES and second.text.isalpha()
    )


def sounds_open(word: str) -> bool:
    """Whether a word begins with a vowel as it is spoken."""
    return (word[0] in VOWELS) != word.startswith(SOUNDS_OTHERWISE)


def runs_on(words: Sequence[Word]) -> bool:
    """Whether there are more finite verbs than clauses, or many "and"s."""
    verbs = sum(word.tag in FINITE for word in words)
    joined = sum(word.text.lower() == "and" for word in words)
    return joined > MOST_JOINED or verbs > 1 + sum(word.text.lower() in JOINING for word in words)


def has_wrong_verb(words: Sequence[Word]) -> bool:
    """Whether "is" follows a plural subject, or "are" a singular one."""
    return any(
        is_plural(words, subject) == (word.text.lower() in SINGULAR_VERBS)
        for at, word in enumerate(words)
        if word.text.lower() in (*SINGULAR_VERBS, *PLURAL_VERBS)
        for subject in find_subjects(words, at)
    )


def find_subjects(words: Sequence[Word], verb: int) -> list[int]:
    """The subjects of a verb before it, without "group" and such."""
    predicates = {verb, words[verb].head}
    return [
        at
        for at, word in enumerate(words[:verb])
        if word.head in predicates
        and word.relation.startswith("nsubj")
        and word.tag.startswith(NOUNS)
        and word.lemma.lower() not in COLLECTIVES
    ]


def is_plural(words: Sequence[Word], noun: int) -> bool:
    """Whether a noun is plural, or joined with another right behind it."""
    text = words[noun].text.lower()
    if text in IRREGULAR or (words[noun].tag == "NNS" and text.endswith("s")):
        return True
    others = (at for at, word in enumerate(words) if word.head == noun and word.relation == "conj")
    return any(
        not any(word.tag in ENDS_PHRASE for word in words[noun + 1 : other]) for other in others
    )


BROKEN: tuple[Callable[[Sequence[Word]], bool], ...] = (
    repeats, lacks_noun, disagrees, has_wrong_article, runs_on, has_wrong_verb,
)  # fmt: skip
