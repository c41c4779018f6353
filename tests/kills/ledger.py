"""The ledger of a killed service: the possible states of each item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

from PIL import Image

COLOURS = ("red", "green", "blue", "yellow", "white", "black", "orange")


@dataclass(frozen=True, slots=True)
class State:
    """The content of an item, all made from its version."""

    version: int
    patches: int = 0
    batch: int = 0

    @property
    def colour(self) -> str:
        """The colour of the item's photo and in its sentence."""
        return COLOURS[self.version % len(COLOURS)]

    @property
    def sentences(self) -> list[str]:
        """The item's sentences."""
        return [f"a {self.colour} square number {self.version}"]

    @property
    def metadata(self) -> dict[str, Any]:
        """The item's metadata."""
        return {"version": self.version, "patches": self.patches, "batch": self.batch}

    @property
    def photo(self) -> bytes | None:
        """The item's photo, a PNG; every other version has none."""
        if self.version % 2:
            return None
        file = BytesIO()
        Image.new("RGB", (32, 24), self.colour).save(file, "PNG")
        return file.getvalue()

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> State:
        """The state of an API's item; AssertionError for a torn one."""
        metadata = item["metadata"]
        state = cls(metadata["version"], metadata["patches"], metadata["batch"])
        assert item["sentences"] == state.sentences, f"torn: {item}"
        assert (item["image"] is None) == (state.photo is None), f"torn: {item}"
        return state

    def patch(self) -> State:
        """The state after one more patch."""
        return replace(self, patches=self.patches + 1)


@dataclass(slots=True)
class Ledger:
    """The possible states of each item; None stands for no item.

    Each id has one writer, so that changes of an item come one after another.
    """

    allowed: dict[str, set[State | None]] = field(default_factory=dict)
    acknowledged: int = 0

    def state(self, item: str) -> State | None:
        """The state of an item with only one."""
        (state,) = self.allowed.get(item, {None})
        return state

    @contextmanager
    def change(self, states: Mapping[str, State | None]) -> Iterator[Callable[..., None]]:
        """Allow these states from now on; acknowledged ones become the only ones.

        The function that is given takes the ids that an answer acknowledges, or refuses.
        """
        before = {item: self.allowed.get(item, {None}) for item in states}
        for item, state in states.items():
            self.allowed[item] = before[item] | {state}

        def settle(items: Iterable[str], *, stored: bool = True) -> None:
            for item in items:
                self.allowed[item] = {states[item]} if stored else before[item]
                self.acknowledged += stored

        yield settle

    def settle(self, states: Mapping[str, State]) -> None:
        """Compare with the stored states, and take them as the truth."""
        for item in states.keys() | self.allowed.keys():
            state, allowed = states.get(item), self.allowed.get(item, {None})
            assert state in allowed, f"{item} is {state}, and acknowledged was {allowed}"
        self.allowed = {item: {state} for item, state in states.items()}

    def copy(self) -> Ledger:
        """A copy of the ledger."""
        return deepcopy(self)
