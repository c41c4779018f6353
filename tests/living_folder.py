"""A folder of photos with changes by chance, and its truth."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from PIL import Image

from app.engine.engine import Engine
from app.imports.departed import Departures, NothingDeleted
from app.imports.folder import find
from app.imports.storing import import_sources

Contents = dict[str, str]  # digests by path


@dataclass(slots=True)
class LivingFolder:
    """A folder with changes by chance; contents are never used twice."""

    root: Path
    draw: random.Random
    made: int = 0
    done: Counter[str] = field(default_factory=Counter)

    def fill(self, count: int) -> None:
        """Make the first photos, in three folders."""
        for folder in ("", "2019 Lisbon", "a/b"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        for _ in range(count):
            self.add()

    def change(self) -> None:
        """Change one file or folder."""
        kinds = (
            *(self.add, self.rename, self.rename, self.move, self.delete, self.touch),
            *(self.replace, self.move_over, self.swap, self.rename_folder, self.protect),
        )
        kind = self.draw.choice(kinds)
        kind()
        self.done[kind.__name__] += 1

    def add(self) -> None:
        """Make a photo."""
        self._write(self._name())

    def rename(self) -> None:
        """Give a photo another name in its folder."""
        file = self._choose()
        file.rename(file.with_name(self._name().name))

    def move(self) -> None:
        """Move a photo to any folder."""
        self._choose().rename(self._name())

    def delete(self) -> None:
        """Delete a photo."""
        if len(self.list_files()) > 20:
            self._choose().unlink()

    def touch(self) -> None:
        """Change the time of a photo."""
        self._stamp(self._choose())

    def replace(self) -> None:
        """Write another photo under a name."""
        self._write(self._choose())

    def move_over(self) -> None:
        """Move a photo over another."""
        if len(self.list_files()) > 20:
            self._choose().replace(self._choose())

    def swap(self) -> None:
        """Let two photos change their names."""
        first, second = self._choose(), self._choose()
        aside = self.root / "aside"
        first.rename(aside)
        if first != second:
            second.rename(first)
        aside.rename(second)

    def rename_folder(self) -> None:
        """Give a folder another name."""
        folders = [path for path in self.root.rglob("*") if path.is_dir()]
        chosen = self.draw.choice(sorted(folders))
        self.made += 1
        chosen.rename(chosen.with_name(f"{chosen.name.partition('+')[0]}+{self.made}"))

    def protect(self) -> None:
        """Change the rights of a photo."""
        self._choose().chmod(self.draw.choice([0o644, 0o600, 0o444]))

    def list_files(self) -> list[Path]:
        """List the photos."""
        return sorted(path for path in self.root.rglob("*") if path.is_file())

    def read(self) -> Contents:
        """Return the digests of all photos by path."""
        return {str(file): sha256(file.read_bytes()).hexdigest() for file in self.list_files()}

    def _choose(self) -> Path:
        return self.draw.choice(self.list_files())

    def _name(self) -> Path:
        """Return a free name, often one of an earlier file."""
        folders = [self.root, *(path for path in self.root.rglob("*") if path.is_dir())]
        while (
            name := self.draw.choice(sorted(folders)) / f"{self.draw.randrange(60)}.png"
        ).exists():
            pass
        return name

    def _write(self, file: Path) -> None:
        self.made += 1
        colour = (self.made % 256, self.made // 256 % 256, 99)
        Image.new("RGB", (self.draw.choice([8, 40]), 8), colour).save(file)
        self._stamp(file)

    def _stamp(self, file: Path) -> None:
        """Set a time of its own."""
        self.made += 1
        os.utime(file, ns=(0, self.made * 10**9))


def scan(engine: Engine, root: Path, *, most: float | None = 1) -> Iterator[tuple[str, str]]:
    """Import a folder as the command does; yield changes and places."""
    departures = Departures(root)
    entries = departures.watch(find([root]))
    for outcome in import_sources(engine, "default", entries, batch=3, most_bytes=10**6):
        yield outcome.change or outcome.status, outcome.place
    for row in departures.delete(engine, engine.open("default"), most):
        yield "deleted", row.source


def read_items(engine: Engine) -> dict[str, tuple[str, str]]:
    """Return the places and digests of items by id."""
    listed = engine.catalog.list_items(engine.open("default", create=True), limit=1000)
    return {item.id: (item.source or "", item.photos[0].digest) for item in listed}


@dataclass(slots=True)
class Truth:
    """Earlier states of a collection, to compare with."""

    ids: dict[str, str] = field(default_factory=dict)  # by digest, while it is in the folder
    embedded: Counter[str] = field(default_factory=Counter)  # digests

    def check(self, engine: Engine, folder: LivingFolder) -> None:
        """Compare a collection after a whole scan with the folder."""
        contents, items = folder.read(), read_items(engine)
        assert sorted(items.values()) == sorted(contents.items())
        ids = {digest: item for item, (_, digest) in items.items()}
        stayed = self.ids.keys() & ids.keys()
        assert {digest: ids[digest] for digest in stayed} == {
            digest: self.ids[digest] for digest in stayed
        }
        assert max(self.embedded.values()) == 1, self.embedded.most_common(3)
        self.ids = ids

    def check_empty(self, engine: Engine, root: Path) -> None:
        """Check a folder without its mount: nothing goes."""
        before, away = read_items(engine), root.with_name("away")
        root.rename(away)
        root.mkdir()
        refused = False
        try:
            list(scan(engine, root, most=None))
        except NothingDeleted:
            refused = True
        assert refused
        root.rmdir()
        away.rename(root)
        assert read_items(engine) == before
