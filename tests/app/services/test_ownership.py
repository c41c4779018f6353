"""Commands with another catalog's store or folder cost no photo."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import app
from index.catalog.catalog import Catalog
from index.database.storage import Storage

COLOURS = ("red", "blue", "green", "yellow", "white", "black")


class Shell:
    """A shell: commands with settings of their own."""

    def __init__(self, **settings: object) -> None:
        self.settings = settings

    def run(self, *arguments: object) -> tuple[int, str]:
        environment = {f"TESSERA_{name.upper()}": str(it) for name, it in self.settings.items()}
        result = CliRunner().invoke(app, [str(one) for one in arguments], env=environment)
        return result.exit_code, result.output

    def succeed(self, *arguments: object) -> str:
        code, output = self.run(*arguments)
        assert code == 0, output
        return output

    def refuse(self, *arguments: object) -> str:
        """A command's one sentence of refusal."""
        code, output = self.run(*arguments)
        assert code == 1, output
        (line,) = [line for line in output.splitlines() if line.startswith("error: ")]
        return line

    def but(self, **settings: object) -> Shell:
        return Shell(**(self.settings | settings))

    def without(self, name: str) -> Shell:
        return Shell(**{key: it for key, it in self.settings.items() if key != name})

    def photos(self) -> int:
        """The number of its items' photos; none is missing."""
        settings = self.settings
        storage = Storage(
            Path(settings["data"]), settings.get("database", ""), settings.get("pictures", "")
        )
        with closing(Catalog(storage)) as catalog:
            home = catalog.names.find("default")
            listed = catalog.list_items(home, limit=100)
            for item in listed:
                if item.photos:
                    assert catalog.picture(home, item.id).jpeg
            return sum(len(item.photos) for item in listed)


@pytest.fixture
def photos(tmp_path, png):
    folder = tmp_path / "photos"
    folder.mkdir()
    for colour in COLOURS:
        (folder / f"{colour}.png").write_bytes(png(colour))
    return folder


@pytest.fixture
def line(tmp_path):
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps({"id": "one", "sentences": ["a red bus"]}) + "\n")
    return file


@pytest.fixture(params=["inside", "folder", "s3"])
def pictures(request, tmp_path):
    """Places of pictures: the data folder, elsewhere, an object store."""
    if request.param == "inside":
        return {}
    if request.param == "folder":
        return {"pictures": tmp_path / "store"}
    return {"pictures": request.getfixturevalue("bucket")}


@pytest.fixture
def production(small_matcher, tmp_path, pictures, photos):
    """Six photos in SQLite, with sweeps at once."""
    shell = Shell(
        data=tmp_path / "data",
        matcher=small_matcher,
        captioner="none",
        region_captioner="none",
        grounder="none",
        sweep_after=0,
        **{name: str(value) for name, value in pictures.items()},
    )
    shell.succeed("index", photos)
    assert shell.photos() == 6
    return shell


@pytest.fixture
def moved(production, postgresql, tmp_path):
    """Production in PostgreSQL, moved as documented, and one photo more."""
    with postgresql.database() as url:
        production.succeed("snapshot", "--out", tmp_path / "all.tar")
        shell = production.but(database=url)
        shell.succeed("restore", tmp_path / "all.tar")
        assert shell.photos() == 6
        yield shell


def test_shell_without_the_database_costs_no_photo(moved, line):
    shell = moved.without("database")
    for command in (("index", line), ("delete", "one"), ("sweep", "--all"), ("snapshot",)):
        assert "TESSERA_DATABASE is probably missing" in shell.refuse(*command)
    assert moved.photos() == 6
    moved.succeed("index", line)
    moved.succeed("sweep")
    assert moved.photos() == 6


def test_wrong_database_costs_no_photo(moved, line, postgresql, tmp_path):
    with postgresql.database() as wrong:
        for command in (
            ("index", line),
            ("sweep", "--all"),
            ("restore", tmp_path / "all.tar"),
            ("serve", "--port", "0"),
        ):
            assert "TESSERA_DATABASE or TESSERA_DATA" in moved.but(database=wrong).refuse(*command)
    assert moved.photos() == 6


def test_a_refused_restore_claims_no_folder(moved, tmp_path):
    new = tmp_path / "new"
    assert "an empty database" in moved.but(data=new).refuse("restore", tmp_path / "all.tar")
    assert not new.exists()


@pytest.mark.parametrize("pictures", ["folder", "s3"], indirect=True)
def test_rehearsed_restore_costs_no_photo(production, photos, png, tmp_path):
    production.succeed("snapshot", "--out", tmp_path / "monday.tar")
    (photos / "tuesday.png").write_bytes(png("purple"))
    production.succeed("index", photos)
    told = production.refuse("restore", tmp_path / "monday.tar", "--data", tmp_path / "new")
    for part in ("picture store", str(tmp_path / "data"), "TESSERA_PICTURES", "--adopt-pictures"):
        assert part in told
    assert production.photos() == 7
    production.succeed("restore", tmp_path / "monday.tar", "--force")
    assert production.photos() == 6


@pytest.mark.parametrize("pictures", ["folder", "s3"], indirect=True)
def test_second_service_on_a_store_is_refused(production, tmp_path, monkeypatch, line):
    monkeypatch.setattr("app.engine.inference.Models.of", None)  # cannot be called
    second = production.but(data=tmp_path / "second")
    for command in (("serve", "--port", "0"), ("index", line)):
        assert "picture store" in second.refuse(*command)
    code, output = second.run("check", "--repair")
    assert code == 1
    assert "owner" in output
    assert production.photos() == 6


@pytest.mark.parametrize("pictures", ["folder"], indirect=True)
def test_adopted_store_is_swept_by_those_who_say_so(production, tmp_path):
    (tmp_path / "second").mkdir()
    second = production.but(data=tmp_path / "second")
    found = second.succeed("sweep", "--adopt-pictures")
    assert "6 pictures, 6 that no item has" in found
    assert "add --all" in found
    dry = second.succeed("sweep", "--all", "--dry-run")
    assert "6 to delete" in dry
    assert len([line for line in dry.splitlines() if len(line) == 64]) == 6
    assert "picture store" in production.refuse("sweep")
    production.succeed("sweep", "--adopt-pictures")
    assert production.photos() == 6
