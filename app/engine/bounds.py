"""Bounds of a caller: the collections open to a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from index.catalog.names import Names
from index.items import Collection


class OutOfBounds(LookupError):
    """A collection outside of the caller's bounds.

    It may exist or not.
    """


@dataclass(frozen=True, slots=True)
class Bounds:
    """The collections and aliases with the names `visible`; None for all."""

    names: Names
    visible: Sequence[str] | None = None

    def sees(self, name: str) -> bool:
        """Return whether a name or an alias may be seen."""
        return self.visible is None or name in self.visible

    def find(self, name: str) -> Collection:
        """Find the collection of a name, under that name where needed.

        Its own name stays hidden if it may not be seen.

        LookupError if there is none, OutOfBounds for a name that may not be seen.
        """
        if self.visible is not None and name not in self.visible:
            raise OutOfBounds(f"this key is bound to other collections: {', '.join(self.visible)}")
        try:
            home = self.names.find(name)
        except LookupError as absent:
            if self.visible is None:
                raise
            raise LookupError(f"no collection {name!r}") from absent  # without all others' names
        hidden = self.visible is not None and home.name not in self.visible
        return replace(home, name=name) if hidden else home

    def collections(self) -> list[Collection]:
        """List the visible collections by their names or visible aliases."""
        if self.visible is None:
            return self.names.all()
        owners = {alias.name: alias.collection for alias in self.names.aliases()}
        shown = {owners.get(name, name): name for name in self.visible}
        shown |= {name: name for name in self.visible}
        visible = [
            replace(home, name=shown[home.name]) for home in self.names.all() if home.name in shown
        ]
        return sorted(visible, key=lambda home: home.name)

    def aliases(self, home: Collection) -> list[str]:
        """List the other visible names of a collection."""
        name = self.names.find(home.name).name
        aliases = [alias.name for alias in self.names.aliases() if alias.collection == name]
        return [alias for alias in aliases if alias != home.name and self.sees(alias)]
