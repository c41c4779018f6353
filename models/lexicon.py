"""English words: the function words, which hold a sentence together."""

from __future__ import annotations


def listed(words: str) -> frozenset[str]:
    """The words of a text that lists them."""
    return frozenset(words.split())


# Closed classes of English, as the tokenizer splits them: "dog's" is "dog" and "'s".
DETERMINERS = listed(
    "a an the this that these those some any no every each either neither another other both all "
    "its his her their our my your whose which such"
)
PREPOSITIONS = listed(
    "about above across after against along alongside amid among amongst around as at atop before "
    "behind below beneath beside besides between beyond by despite down during except for from in "
    "inside into like near next of off on onto opposite out outside over past per through "
    "throughout to toward towards under underneath until up upon via with within without"
)
AUXILIARIES = listed(
    "am is are was were be been being have has had having do does did doing can could may might "
    "must shall should will would not"
)
CONJUNCTIONS = listed(
    "and or but nor so yet if than then though although because since unless when whenever where "
    "wherever whereas whether while"
)
PRONOUNS = listed(
    "i me you he him she it we us they them myself yourself himself herself itself ourselves "
    "themselves who whom what mine yours hers ours theirs there here someone somebody something "
    "anyone anybody anything everyone everybody everything one ones"
)
ENCLITICS = listed("'s 're 've 'll 'd 'm n't nt")
FUNCTION_WORDS = DETERMINERS | PREPOSITIONS | AUXILIARIES | CONJUNCTIONS | PRONOUNS | ENCLITICS


def plain(word: str) -> str:
    """A word in lower case, with a straight apostrophe."""
    return word.lower().replace("’", "'")


def is_function_word(word: str) -> bool:
    """Whether a word is a determiner, preposition, auxiliary, conjunction or pronoun."""
    return plain(word) in FUNCTION_WORDS


def is_enclitic(word: str) -> bool:
    """Whether a word leans on the word before it, as "'s" and "n't" do."""
    return plain(word) in ENCLITICS
