from pathlib import Path

from models.text.parsing import parse
from models.text.words import UNKNOWN, Vocabulary
from models.types import ParsedSentence, Span, Word
from training.data.corpus import Example
from training.data.vocabulary import relations, vocabulary

TRAIN = [
    Example(
        "a",
        Path("a.jpg"),
        ("A dog .", "A Dog , a dog !", "the dog , a dog", "A man's dog - 5 cats , a a"),
    ),
    Example("b", Path("b.jpg"), ("A rare dog",)),
]


def test_words_are_lower_case_without_punctuation_and_frequent():
    assert vocabulary(TRAIN, least_count=5) == ("a", "dog")


def test_more_frequent_words_come_first_and_equals_by_the_alphabet():
    words = vocabulary(TRAIN, least_count=1)
    assert words == ("a", "dog", "'s", "5", "cats", "man", "rare", "the")


def test_every_kept_word_is_found_again_by_the_encoder():
    known = Vocabulary(vocabulary(TRAIN, least_count=1))
    for example in TRAIN:
        for sentence in example.sentences:
            assert UNKNOWN not in known.encode(parse(sentence))
    assert known.encode(parse("a zebra")).tolist() == [1, UNKNOWN]


def test_rare_relations_have_no_name_of_their_own(monkeypatch):
    def parsed(text):
        """A sentence under its first word; relations are named so."""
        words = text.split()
        return ParsedSentence(
            text,
            tuple(
                Word(one, Span(n, n + 1), head=0 if n else -1, relation=one)
                for n, one in enumerate(words)
            ),
        )

    monkeypatch.setattr(
        "training.data.vocabulary.parse_trees", lambda texts: [parsed(text) for text in texts]
    )
    examples = [
        Example("a", Path("a.jpg"), ("root obj det det", "root rare rare rare")),
        Example("b", Path("b.jpg"), ("root det nsubj obj obj",)),
        Example("c", Path("c.jpg"), ()),
    ]
    assert relations(examples, least_share=0.2) == ("det", "obj")
