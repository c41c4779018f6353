from concurrent.futures import ThreadPoolExecutor

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from models import shipped
from models.text.parsing import (
    MOST_WORDS,
    NO_HEAD,
    SHORT,
    choose,
    parse,
    parse_trees,
    parser,
    parser_key,
    require,
    tokenizer,
    tree,
)


def words(text):
    return [word.text for word in parse(text).words]


@pytest.mark.parametrize(
    "text",
    [
        "A dog runs.",
        "  two  spaces\tand\nlines ",
        "a naïve café, été",
        "🐶 dog 👩‍👩‍👧 family",
        "don't-stop (really)!",
        "狗在跑 ½ cup",
        "x\x00y",
    ],
)
def test_spans_point_into_the_text(text):
    for word in parse(text).words:
        assert text[word.span.start : word.span.end] == word.text


def test_words_of_short_texts_alone_are_remembered():
    short, long = "a dog runs", "a" + " " * SHORT + "dog"
    assert parse(short) is parse(short)
    assert parse(long) is not parse(long)
    assert parse(long) == parse(long)


def test_punctuation_is_no_word():
    assert words('A "dog", running - fast!') == ["A", "dog", "running", "fast"]


def test_emoji_are_no_words_and_do_not_move_spans():
    (dog,) = parse("🐶 dog 🐶").words
    assert (dog.span.start, dog.span.end) == (2, 5)


@pytest.mark.parametrize("text", ["", "   ", "...", "🐶", "\x00", "—"])
def test_a_text_without_words_is_refused(text):
    with pytest.raises(ValueError, match="no words"):
        parse(text)


@pytest.mark.parametrize("text", ["dog " * 10_000, "a," * (MOST_WORDS + 1), "dog" * 10_000])
def test_a_text_that_is_too_long_is_refused_with_the_limit(text):
    with pytest.raises(ValueError, match=f"at most {MOST_WORDS}"):
        parse(text)


def test_a_huge_text_is_refused_before_it_is_tokenized(monkeypatch):
    monkeypatch.setattr("models.text.parsing.tokenizer", None)
    with pytest.raises(ValueError, match="at most"):
        parse("dog " * 10_000)


def test_the_longest_sentence_is_kept_whole():
    assert len(words("dog " * MOST_WORDS)) == MOST_WORDS


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(ValueError, match="surrogate"):
        parse("\ud83d dog")


TEXTS = [
    "A black dog running on grass",
    "two  kids, and\na man - they're smiling!",
    "🐶 dog. Cats play; birds don't",
    "x",
]


def relations(text):
    (sentence,) = parse_trees([text])
    above = [sentence.words[word.head].text if word.head >= 0 else "" for word in sentence.words]
    return [(w.text, w.relation, head) for w, head in zip(sentence.words, above, strict=True)]


def is_tree(words):
    """One root, and from every word the way up ends there."""
    heads = [word.head for word in words]
    for start in range(len(heads)):
        place, steps = start, 0
        while heads[place] >= 0 and steps <= len(heads):
            place, steps = heads[place], steps + 1
        if heads[place] != NO_HEAD:
            return False
    return heads.count(NO_HEAD) == 1


def test_a_caption_becomes_a_tree():
    assert relations("A black dog running on grass") == [
        ("A", "det", "dog"),
        ("black", "amod", "dog"),
        ("dog", "root", ""),
        ("running", "acl", "dog"),
        ("on", "case", "grass"),
        ("grass", "obl", "running"),
    ]


def test_words_have_tags_and_lemmas():
    (sentence,) = parse_trees(["Two dogs were running"])
    assert [(word.tag, word.lemma) for word in sentence.words] == [
        ("CD", "two"),
        ("NNS", "dog"),
        ("VBD", "be"),
        ("VBG", "run"),
    ]


def test_trees_have_the_words_of_parse():
    for sentence, text in zip(parse_trees(TEXTS), TEXTS, strict=True):
        assert [(w.text, w.span) for w in sentence.words] == [
            (w.text, w.span) for w in parse(text).words
        ]


def test_a_batch_gives_what_each_text_gives_alone():
    assert parse_trees(TEXTS) == [tree for text in TEXTS for tree in parse_trees([text])]


def test_white_space_changes_no_tree():
    assert relations(" a dog \n\n on   grass ") == relations("a dog on grass")


def test_several_sentences_are_one_tree():
    (sentence,) = parse_trees(["A dog barks. Cats sleep. It rains."])
    assert is_tree(sentence.words)


def test_no_texts_have_no_trees():
    assert parse_trees([]) == []


@given(
    st.lists(st.sampled_from(["dog", "runs", "on", ",", ".", "(", "🐶", " ", "zyx"]), min_size=1)
)
def test_every_text_with_a_word_is_one_tree(tokens):
    (sentence,) = parse_trees([" ".join(["a", *tokens])])
    assert is_tree(sentence.words)


@st.composite
def forests(draw):
    """Tokens, some punctuation, and heads without a cycle."""
    texts = draw(st.lists(st.sampled_from(["word", ","]), min_size=1, max_size=8))
    texts[draw(st.integers(0, len(texts) - 1))] = "word"
    order = draw(st.permutations(range(len(texts))))
    heads = list(range(len(texts)))
    for rank, place in enumerate(order):
        heads[place] = order[draw(st.integers(0, rank))]  # itself: a root
    return texts, heads


@given(forests())
def test_every_parse_becomes_one_tree_along_it(forest):
    texts, heads = forest
    doc = Doc(tokenizer().vocab, texts, heads=heads, deps=["dep"] * len(texts))
    words = tree(doc, range(len(texts)))
    assert is_tree(words)
    for word in words:
        assert (word.head == NO_HEAD) == (word.relation == "root")
        if word.relation == "dep":
            above = heads[word.span.start]
            while texts[above] == ",":
                above = heads[above]
            assert words[word.head].span.start == above


def test_a_refused_text_leaves_the_parser_as_it_was():
    before = parse_trees(TEXTS)
    with pytest.raises(ValueError, match="no words"):
        parse_trees(["a dog", "..."])
    with pytest.raises(ValueError, match="at most"):
        parse_trees(["dog " * 10_000])
    assert parse_trees(TEXTS) == before


def test_words_never_met_before_do_not_stay_in_memory():
    nlp = parser(str(shipped.PARSER))
    parse_trees(["a dog"])
    before = len(nlp.vocab.strings), len(tokenizer().vocab.strings)
    texts = [f"zy{number}x" for number in range(50)]
    assert [tree.words[0].text for tree in parse_trees(texts)] == texts
    assert [parse(text).words[0].text for text in texts] == texts
    assert (len(nlp.vocab.strings), len(tokenizer().vocab.strings)) == before


def test_threads_get_the_same_trees():
    before = parse_trees(TEXTS)
    with ThreadPoolExecutor(4) as threads:
        assert all(trees == before for trees in threads.map(parse_trees, [TEXTS] * 20))


@pytest.fixture
def another(tmp_path, monkeypatch):
    """The shipped pipeline without its tags."""
    monkeypatch.setattr("models.text.parsing.chosen", str(shipped.PARSER))
    spacy.load(shipped.PARSER, exclude=["tagger"]).to_disk(tmp_path / "another")
    return tmp_path / "another"


def test_another_pipeline_can_be_chosen_and_changes_the_key(another):
    before = parser_key()
    choose(another)
    (sentence,) = parse_trees(["a dog"])
    assert [(word.tag, word.relation) for word in sentence.words] == [("", "det"), ("", "root")]
    assert parser_key() != before


def test_a_pipeline_that_is_not_there_is_refused_with_what_would_work():
    with pytest.raises(LookupError, match="en_core_web_sm"):
        choose("en_core_web_huge")


def test_a_pipeline_that_does_not_parse_is_refused(tmp_path):
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(ValueError, match="no parser"):
        choose(tmp_path / "blank")
    assert parse_trees(["a dog"])[0].words[1].relation == "root"


def test_the_parser_that_ships_is_small():
    assert sum(file.stat().st_size for file in shipped.PARSER.rglob("*")) < 15e6


def test_what_learned_from_another_parser_s_trees_is_refused():
    require(parser_key())
    require("")  # learned from no trees, or before parsers were recorded
    with pytest.raises(ValueError, match="choose the pipeline that it learned from"):
        require("0123456789abcdef")
