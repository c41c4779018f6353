"""Commands delete items and choose the language of a collection."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from typer.testing import CliRunner

from app.cli import app
from index.catalog.catalog import Catalog
from index.database import curation
from index.documents.reader import DocumentReader
from tests.catalogs import Catalogs


def call(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, " ".join(result.output.split())


def test_the_language_of_a_collection_is_chosen_and_shown(
    catalogs: Catalogs, tmp_path: Path
) -> None:
    with catalogs.in_folder(tmp_path) as catalog:
        home = catalog.names.make("shop", fingerprint="f", dimension=8, score="sum_of_max")
    language = ("collections", "language", "shop")
    assert call(*language, "--data", tmp_path) == (0, "en (English)")
    assert call(*language, "de", "--data", tmp_path) == (0, "de (German)")
    assert call(*language, "--data", tmp_path) == (0, "de (German)")
    code, told = call(*language, "xx", "--data", tmp_path)
    assert code == 1
    assert "there is no language 'xx'; there are ar, ca" in told
    with closing(Catalog.in_folder(tmp_path)) as catalog:
        assert curation.read(catalog.reader, home, "language") == ["de"]
        assert DocumentReader(catalog, home).current().language.code == "de"


def test_a_filter_that_is_no_json_is_shown_in_the_right_form(
    catalogs: Catalogs, tmp_path: Path
) -> None:
    with catalogs.in_folder(tmp_path):
        pass
    code, told = call("delete", "--filter", "album=park", "--dry-run", "--data", tmp_path)
    assert code == 1
    assert told.startswith("error: --filter 'album=park' is not valid JSON (Expecting value")
    assert told.endswith("""write it such as '{"album": "park"}'""")
    code, told = call("delete", "--filter", '{"a": 1, "a": 2}', "--data", tmp_path)
    assert (code, "the key 'a' is there twice" in told) == (1, True)
