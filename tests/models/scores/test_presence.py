from dataclasses import replace

import pytest
import torch

from models.scores.presence import Presence, Verdict, judge_photo
from models.text.queries import Query
from models.text.query_drafts import of_several, of_things
from models.types import WHOLE_FRAME, FragmentBag, Span
from tests.colours import Colours

# Log odds of a colour are v · u − 2, and it is said to be there from 0 on.
PRESENCE = Presence(
    torch.zeros(3, 3),
    torch.zeros(3),
    torch.zeros(3),
    1.0,
    -2.0,
    0.0,
    1.0,
    frozenset({"red", "lime"}),
)
RED, BLUE, LIME = [1.0, -1.0, -1.0], [-1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]


def photo(*regions):
    return FragmentBag(
        torch.tensor(regions), (WHOLE_FRAME,) * len(regions), ("region",) * len(regions)
    )


def judge(text, *regions):
    (query,) = of_things(Colours(), [text], (), PRESENCE)
    return judge_photo(photo(*regions), query, "sum_of_max")


def test_a_question_by_hand():
    """u = (3, 4), h = (.6, .8): q = 2u + A h, bias = 1 + βᵀh, the limit is −1 + γᵀh."""
    presence = Presence(
        torch.tensor([[5.0, 0.0], [0.0, -10.0]]), torch.tensor([0.0, 5.0]),
        torch.tensor([10.0, 0.0]), 2.0, 1.0, -1.0, 3.0,
    )  # fmt: skip
    spans, labels = (Span(2, 5), Span(6, 9)), ("red", "dog")
    sentence = FragmentBag(torch.tensor([[1.0, 1.0], [2.0, 3.0]]), spans, labels)
    asked, condition = presence.ask(sentence)
    assert asked.vectors.tolist() == [pytest.approx([9.0, 0.0])]
    assert (asked.places, asked.labels) == ((Span(2, 9),), ("red dog",))
    assert condition.bias == pytest.approx(5.0)
    assert condition.threshold == pytest.approx(5.0 - 5.0)
    assert condition.usual == pytest.approx(2.0)


def test_numbers_of_a_catalogues_terms_are_asked_nothing():
    sentence = FragmentBag(torch.tensor([[1.0, -1.0, -1.0, 7.0]]), (Span(0, 3),), ("red",), 1)
    asked, _ = PRESENCE.ask(sentence)
    assert asked.vectors.tolist() == [[1.0, -1.0, -1.0, 0.0]]


def test_a_thing_is_there_if_one_region_shows_it():
    assert judge("red", BLUE, RED).there
    assert not judge("red", BLUE, LIME).there
    assert judge("red", BLUE, RED).confidence > 0.5 > judge("red", BLUE, LIME).confidence


def test_of_several_conditions_all_must_hold_and_the_least_certain_counts():
    assert judge("red without lime", RED).there
    assert not judge("red without lime", RED, LIME).there
    assert not judge("red without lime", BLUE).there
    assert judge("red without lime", RED, LIME).confidence < 0.5


def test_nothing_is_there_for_a_text_without_a_known_word():
    assert judge("qwrtzx", RED) == Verdict(there=False, confidence=0.0)


def test_a_text_of_things_asks_for_each_and_other_texts_for_their_words():
    texts = ["red and lime", "no red", "a red flag", "a flag without red"]
    things, denied, words, mixed = of_several(
        Colours(), [[(text, 1.0)] for text in texts], (), PRESENCE
    )
    assert (len(things.parts), things.of_things) == (2, True)
    assert (denied.weights, denied.of_things) == ((-1.0,), True)
    assert words.conditions == (None,)
    assert [condition is None for condition in mixed.conditions] == [True, False]
    assert of_several(Colours(), [[("red and lime", 1.0)]])[0].conditions == (None,)


def test_parts_of_a_query_have_conditions_or_none():
    query = Query((photo(RED),), (1.0,))
    assert query.conditions == (None,)
    with pytest.raises(AssertionError):
        replace(query, conditions=(None, None))
