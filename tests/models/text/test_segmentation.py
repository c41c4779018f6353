import pytest

from models.text.limits import MOST_WORDS
from models.text.parsing import parse

TEXTS = {
    "一只狗在草地上奔跑": "狗",
    "红色的汽车，停在路边。我的iPhone手机壳": "iPhone",
    "紅色的公共汽車停在路邊": "汽車",
    "赤い車が道路を走る。": "車が",
    "รถสีแดงบนถนน": "แดง",
    "एक लाल बस सड़क पर": "बस",
    "حافلة حمراء على الطريق": "حمراء",
    "Der rote Bus fährt über die Straße": "fährt",
    "un autobús rojo en la calle": "autobús",
}


@pytest.mark.parametrize(("text", "word"), TEXTS.items())
def test_texts_of_all_scripts_have_words_in_their_places(text, word):
    words = parse(text).words
    assert word in [w.text for w in words]
    assert len(words) > 3
    assert all(text[w.span.start : w.span.end] == w.text for w in words)


@pytest.mark.parametrize("text", TEXTS)
def test_no_letter_of_a_text_is_lost(text):
    letters = [c for c in text if c.isalpha()]
    assert [c for word in parse(text).words for c in word.text if c.isalpha()] == letters


def test_english_words_next_to_chinese_ones_stay_whole():
    assert [w.text for w in parse("a red bus 公共汽车").words] == [
        "a",
        "red",
        "bus",
        "公共",
        "汽车",
    ]


def test_of_a_huge_text_without_spaces_the_runs_are_kept():
    text = "狗在草地上奔跑，" * MOST_WORDS
    assert 0 < len(parse(text).words) <= MOST_WORDS
