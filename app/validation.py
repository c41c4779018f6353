"""Validation of JSON: no duplicate keys, and mistakes with a remedy."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import from_json

from app.nearest import nearest
from index.metadata import DEEPEST

Model = TypeVar("Model", bound=BaseModel)
Place = tuple[str | int, ...]  # the keys and numbers that lead to a value
MOST_NAMED = 20  # mistakes of one body: it may have as many as bytes
EXPECTED = "Input should be "  # how pydantic begins what it says of a type
STRICT = {"int_type", "float_type", "bool_type"}  # pydantic's errors for a value of another kind
LONGEST_NUMBER = 4_300  # digits that Python turns into an integer, as it takes their square in time
DICTIONARY = re.compile(r"a valid dictionary( or instance of \w+)?")


class KeyTwice(ValueError):
    """An object has a key twice."""


def read_values(text: str | bytes) -> Any:
    """Read JSON; KeyTwice for a duplicate key, ValueError if invalid."""
    try:
        return json.loads(text, object_pairs_hook=_make_object)
    except KeyTwice:
        raise
    except RecursionError:
        raise ValueError(f"it is nested far more than {DEEPEST} deep; flatten it") from None
    except ValueError as odd:
        if isinstance(odd, json.JSONDecodeError | UnicodeDecodeError):
            raise
        raise ValueError(f"a number has more than {LONGEST_NUMBER:,} digits") from odd


def parse_json(name: str, value: str | bytes, model: type[BaseModel] = BaseModel) -> Any:
    """Parse a field's text as JSON.

    ValueError names the field, with its example.
    """
    try:
        return read_values(value)
    except KeyTwice as twice:
        raise ValueError(f"{name}: {twice}") from twice
    except ValueError as broken:
        example = quote_example(model, (name,))
        raise ValueError(f"{name}: not valid JSON ({broken}){example}") from broken


def check_keys(text: str | bytes) -> None:
    """Raise KeyTwice for a duplicate key in valid JSON."""
    json.loads(
        text, object_pairs_hook=_make_object, parse_int=str
    )  # int() refuses thousands of digits


def _make_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise KeyTwice(f"the key {twice!r:.100} is there twice in one object; send it once")
    return fields


def read_json(
    model: type[Model],
    data: bytes,
    check: Callable[[Model], object] = lambda _: None,
    files: Collection[str] = (),
) -> Model:
    """Read JSON as a model, with or without a byte order mark.

    Raises ValueError for values that the model refuses. `files` are names that forms have besides.

    A number is no text and no true or false; an object has no key twice. `check` may refuse it
    before it is looked through for such keys, which takes as long again.
    """
    data = data.removeprefix(BOM_UTF8)
    try:
        sent_model = model.model_validate_json(data, strict=True)
    except ValidationError as wrong:
        try:
            sent = from_json(data)
        except ValueError:
            sent = None
        raise ValueError(explain(_errors(wrong), sent, model, files)) from wrong
    check(sent_model)
    check_keys(data)
    return sent_model


def read_fields(
    model: type[Model],
    fields: Mapping[str, Any],
    parts: Collection[str] = (),
    files: Collection[str] = (),
) -> Model:
    """Read fields as a model; ValueError for refused values.

    The `parts` were sent as JSON: in them a number is no text, as in a body. `files` are names of
    a form's files.
    """
    sent_parts = [name for name in parts if name in fields and name in model.model_fields]
    errors = [error for name in sent_parts for error in _part_errors(model, name, fields[name])]
    if errors:
        raise ValueError(explain(errors, fields, model))
    try:
        return model.model_validate(fields)
    except ValidationError as wrong:
        raise ValueError(explain(_errors(wrong), fields, model, files)) from wrong


def _part_errors(model: type[BaseModel], name: str, value: Any) -> list[Any]:
    """List the errors of one field of JSON."""
    try:
        _adapt_field(model, name).validate_json(json.dumps(value), strict=True)
    except ValidationError as wrong:
        return [{**error, "loc": (name, *error["loc"])} for error in _errors(wrong)]
    return []


@lru_cache(128)
def _adapt_field(model: type[BaseModel], name: str) -> TypeAdapter[Any]:
    """Return a reader of one field of a model."""
    field = model.model_fields[name]
    annotated: Any = Annotated[field.annotation, field]
    return TypeAdapter(annotated)


def _errors(wrong: ValidationError) -> list[Any]:
    return [*wrong.errors(include_url=False, include_context=False)]


def explain(
    errors: Iterable[Any],
    sent: Any,
    model: type[BaseModel] = BaseModel,
    files: Collection[str] = (),
) -> str:
    """Describe pydantic's first errors in one sentence.

    `files` are names that the model's forms have besides its fields.
    """
    messages: dict[Place, list[str]] = {}
    inputs: dict[Place, str] = {}
    for error in islice(errors, MOST_NAMED):
        place = _locate(error, sent)
        inputs[place] = _quote_input(error)
        at_place = messages.setdefault(place, [])
        message = _describe_error(error, place, model, files)
        if message not in at_place:
            at_place.append(message)
    # An error inside of a value says more than that the value is of no other kind of a union.
    outer = {place[:end] for place in messages for end in range(len(place))} - {()}
    return "; ".join(
        ": ".join(filter(None, (_join_place(place), _join_alternatives(at_place)))) + inputs[place]
        for place, at_place in messages.items()
        if place not in outer
    )


def _quote_input(error: Any) -> str:
    """Quote a value of the wrong type, if it looks right."""
    value = error.get("input")
    if error["type"] not in STRICT or not isinstance(value, str | int | float):
        return ""
    return f", got {json.dumps(value):.100}"


def _join_place(place: Place) -> str:
    """A place as people read it."""
    return ".".join(f"{part:.100}" if isinstance(part, str) else str(part) for part in place)


def _locate(error: Any, sent: Any) -> Place:
    """Return the place of an error in the input."""
    place: list[str | int] = []
    for part in error["loc"]:
        if _has(sent, part):
            place.append(part)
            sent = sent[part]
    return (*place, error["loc"][-1]) if error["type"] == "missing" else tuple(place)


def _has(value: Any, part: str | int) -> bool:
    if isinstance(value, list | tuple):
        return isinstance(part, int) and part < len(value)
    return isinstance(value, Mapping) and part in value


def _describe_error(
    error: Any, place: Place, model: type[BaseModel], files: Collection[str]
) -> str:
    if error["type"] == "extra_forbidden":
        fields = _model_at(model, place[:-1]).model_fields
        return _describe_unknown(str(place[-1]), fields, files if len(place) == 1 else ())
    message = str(error["msg"]).removeprefix("Value error, ").replace(" after validation", "")
    return DICTIONARY.sub("an object", message) + quote_example(model, place)


def _describe_unknown(name: str, fields: Mapping[str, FieldInfo], files: Collection[str]) -> str:
    """Describe an unknown field: the nearest name, and all names."""
    if name in files:
        return "send it as a file of a form (multipart/form-data)"
    names = [
        f"{key} (a list)" if get_origin(field.annotation) is list else key
        for key, field in fields.items()
    ]
    names += [f"{file} (a file of a form)" for file in files]
    near = nearest(name, [*fields, *files], "one")
    return f"there is no such field{near}; there are {', '.join(names)}"


def quote_example(model: type[BaseModel], place: Place) -> str:
    """Quote an example of a field, as the end of a sentence."""
    if not place or not isinstance(place[-1], str):
        return ""
    field = _model_at(model, place[:-1]).model_fields.get(place[-1])
    kinds = [] if field is None else [field, *_kinds(field.annotation)]
    examples = (kind.examples for kind in kinds if isinstance(kind, FieldInfo) and kind.examples)
    return next((f", such as {json.dumps(values[0])}" for values in examples), "")


def _model_at(model: type[BaseModel], place: Place) -> type[BaseModel]:
    """The model of the object at a place."""
    for key in place:
        if isinstance(key, str) and key in model.model_fields:
            kinds = _kinds(model.model_fields[key].annotation)
            inner = (kind for kind in kinds if isinstance(kind, type))
            model = next((kind for kind in inner if issubclass(kind, BaseModel)), model)
    return model


def _kinds(annotation: Any) -> Iterator[Any]:
    """Yield a type, its parts and their annotations."""
    yield annotation
    for part in get_args(annotation):
        yield from _kinds(part)


def _join_alternatives(messages: Sequence[str]) -> str:
    """Join the messages for a value of a union."""
    first, *others = messages
    return " or ".join([first, *(other.removeprefix(EXPECTED) for other in others)])
