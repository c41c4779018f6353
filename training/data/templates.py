"""Short texts of a catalogue's fields, as people type them.

Such as "navy blue shirt", or "sandals".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

from training.data.corpus import Example

if TYPE_CHECKING:
    import inflect

KIND = re.compile(r"type|kind|categor|department|class", re.IGNORECASE)
TITLE = re.compile(r"title|name", re.IGNORECASE)
NOTHING = {"", "na", "n/a", "none", "null", "unknown", "other", "others"}
LEAST_REPEATS = 3.0  # photos a value, on average: a field with fewer tells products apart
MOST_WORDS = 4  # of an attribute's value; longer ones are sentences
TITLE_WORDS = 32
NO_LOOKS = {
    "id",
    "image",
    "split",
    "metadata",
    "url",
    "link",
}  # fields that never describe a product


@dataclass(frozen=True, slots=True)
class Roles:
    """Roles of fields: title, kinds from the finest on, and attributes.

    shared: whether several products share a title, so that a title names a kind of product.
    """

    title: str | None
    kinds: tuple[str, ...]
    attributes: tuple[str, ...]
    shared: bool = False

    def __str__(self) -> str:
        named = {
            "title": self.title or "none",
            "kinds": ", ".join(self.kinds) or "none",
            "attributes": ", ".join(self.attributes) or "none",
        }
        return "; ".join(f"{role}: {fields}" for role, fields in named.items())


def guess_roles(examples: Sequence[Example], fields: Sequence[str] = ()) -> Roles:
    """Guess the roles of `fields` by their names and values.

    By default of all fields.

    A field of short texts that repeat is an attribute, or a kind if its name says so. The kind with
    most values is the finest. ValueError where no field can become a text.
    """
    available = list_fields(examples)
    if unknown := [field for field in fields if field not in available]:
        raise LookupError(f"no product has {', '.join(unknown)}; there are: {', '.join(available)}")
    values = {field: count_values(examples, field) for field in fields or available}
    repeated = {
        field: len(counter) for field, counter in values.items() if is_repeated_text(counter)
    }
    kinds = sorted(filter(KIND.search, repeated), key=lambda field: -repeated[field])
    titles = [field for field, counter in values.items() if TITLE.search(field) and counter]
    guessed = Roles(
        title=titles[0] if titles else None,
        kinds=tuple(kinds),
        attributes=tuple(field for field in repeated if field not in (*kinds, *titles[:1])),
        shared=bool(titles) and is_repeated(values[titles[0]]),
    )
    if not (titles or repeated):
        raise ValueError(f"no field of {', '.join(values)} has a title, or values that repeat")
    return guessed


def list_fields(examples: Sequence[Example]) -> list[str]:
    """List fields with descriptions of products, in the file's order."""
    every = dict.fromkeys(field for example in examples for field in example.metadata)
    return [field for field in every if field.lower() not in NO_LOOKS]


def count_values(examples: Sequence[Example], field: str) -> Counter[str]:
    """Count the examples with each value of a field."""
    return Counter(filter(None, (value(example.metadata, field) for example in examples)))


def is_repeated_text(values: Counter[str]) -> bool:
    """Return whether values are short, repeated texts."""
    return is_repeated(values) and max(len(text.split()) for text in values) <= MOST_WORDS


def is_repeated(values: Counter[str]) -> bool:
    """Return whether several values each come several times on average."""
    return len(values) > 1 and values.total() >= LEAST_REPEATS * len(values)


def value(metadata: Mapping[str, Any], field: str) -> str:
    """Return a field's value as people type it.

    Empty without one, or for a number.
    """
    text = metadata.get(field)
    if not isinstance(text, str) or not re.search(r"[^\W\d]", text):
        return ""
    words = text.lower().split()[:TITLE_WORDS]
    return "" if " ".join(words) in NOTHING else " ".join(words)


def make_texts(metadata: Mapping[str, Any], roles: Roles) -> tuple[str, ...]:
    """Make the texts of a product: title, kinds, attributes, attributes before kinds."""
    return tuple(dict.fromkeys(filter(None, generate_texts(metadata, roles))))


def list_terms(metadata: Mapping[str, Any], roles: Roles) -> tuple[str, ...]:
    """List the values of fields of kinds and attributes, as written."""
    titles = (roles.title,) if roles.title and roles.shared else ()
    fields = (*roles.kinds, *roles.attributes, *titles)
    return tuple(dict.fromkeys(filter(None, (value(metadata, field) for field in fields))))


def generate_texts(metadata: Mapping[str, Any], roles: Roles) -> Iterator[str]:
    """Give the texts of `make_texts`, some more than once."""
    likes = list(filter(None, (value(metadata, field) for field in roles.attributes)))
    kinds = [form for field in roles.kinds for form in forms(value(metadata, field))]
    if roles.title:
        yield value(metadata, roles.title)
    yield from kinds
    yield from likes
    finest = forms(value(metadata, roles.kinds[0])) if roles.kinds else ()
    for kind in finest or ("",):
        for count in (1, 2):
            for attributes in combinations(likes, count):
                yield " ".join([*attributes, kind]).strip()


@cache
def forms(kind: str) -> tuple[str, ...]:
    """Return a kind as written, and its singular: "casual shoes", "casual shoe"."""
    if not kind:
        return ()
    singular = _english().singular_noun(kind)
    return (kind, str(singular)) if singular else (kind,)


def forms_of_term(term: str) -> tuple[str, ...]:
    """Return singular and plural of a term: "apple" and "apples"."""
    kind_forms = forms(term)
    return kind_forms if len(kind_forms) > 1 else (*kind_forms, str(_english().plural_noun(term)))


@cache
def _english() -> inflect.engine:
    """Load the rules of English nouns.

    This takes seconds.
    """
    import inflect

    return inflect.engine()
