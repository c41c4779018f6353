from pathlib import Path

import pytest

from training.data import templates
from training.data.corpus import Example
from training.data.templates import Roles, guess_roles, make_texts

SHIRT = {
    "id": "17",
    "image": "17.jpg",
    "title": "Nike Men Blue T-Shirt",
    "articleType": "Tshirts",
    "category": "Apparel",
    "baseColour": "Navy Blue",
    "year": "2011",
    "price": 20,
}
SANDAL = SHIRT | {"articleType": "Sandals", "category": "Footwear", "baseColour": "NA"}
ROLES = Roles("title", ("articleType", "category"), ("baseColour",))


def example(metadata):
    return Example("x", Path("x.jpg"), (), metadata)


def shop(count=4):
    named = [row | {"title": f"Item {n}"} for n in range(count) for row in (SHIRT, SANDAL)]
    return [example(row | {"baseColour": ["Red", "Blue"][n % 2]}) for n, row in enumerate(named)]


def test_roles_are_guessed_from_names_and_values():
    examples = shop() + [example(SHIRT | {"articleType": "Shirts"}) for _ in range(4)]
    assert guess_roles(examples) == ROLES
    assert str(ROLES) == "title: title; kinds: articleType, category; attributes: baseColour"


def test_only_the_fields_that_are_named_become_texts():
    assert guess_roles(shop(), ["baseColour"]) == Roles(None, (), ("baseColour",))
    with pytest.raises(LookupError, match=r"no product has colour; there are: title, articleType"):
        guess_roles(shop(), ["colour"])


def test_a_field_of_sentences_or_of_a_value_each_is_no_attribute():
    sentences = [{"about": "A shirt for every day."}] * 5 + [{"about": "A shoe for dancing."}] * 5
    skus = [{"sku": f"AB{n}"} for n in range(10)]
    both = [example(one | other) for one, other in zip(sentences, skus, strict=True)]
    with pytest.raises(ValueError, match="no field of about, sku"):
        guess_roles(both)


def test_texts_are_short_and_as_people_type_them():
    assert make_texts(SHIRT, ROLES) == (
        "nike men blue t-shirt",
        "tshirts",
        "tshirt",
        "apparel",
        "navy blue",
        "navy blue tshirts",
        "navy blue tshirt",
    )


def test_two_attributes_stand_before_a_kind():
    both = Roles(None, ("articleType",), ("gender", "baseColour"))
    assert "women red sandal" in make_texts(
        {"gender": "Women", "baseColour": "Red", "articleType": "Sandals"}, both
    )


def test_a_value_that_says_nothing_makes_no_text():
    assert make_texts(SANDAL, Roles(None, ("articleType",), ("baseColour", "year", "brand"))) == (
        "sandals",
        "sandal",
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("casual shoes", ("casual shoes", "casual shoe")),
        ("watches", ("watches", "watch")),
        ("milk", ("milk",)),
        ("dress", ("dress",)),
        ("", ()),
    ],
)
def test_a_kind_has_its_singular(kind, expected):
    assert templates.forms(kind) == expected


def test_a_term_is_named_in_the_singular_and_the_plural():
    assert templates.forms_of_term("apple") == ("apple", "apples")
    assert templates.forms_of_term("shirts") == ("shirts", "shirt")
