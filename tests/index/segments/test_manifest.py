"""The manifest: read as it was published, or refused."""

import json

import pytest

from index.segments import manifest
from index.segments.manifest import Listed, Manifest
from index.segments.segment import RevisionSpan

TWO = Manifest(
    "token",
    (
        Listed("first", RevisionSpan(0, 5, 7, "m"), {"a.npy": (3, "00ff")}),
        Listed("second", RevisionSpan(5, 9, 9, "n"), {}),
    ),
)


def test_manifest_comes_back_as_it_was_published(tmp_path):
    assert manifest.read(tmp_path, "token") is None
    for one in (TWO, Manifest("token", ())):
        manifest.publish(tmp_path, one)
        assert manifest.read(tmp_path, "token") == one
    assert [path.name for path in tmp_path.iterdir()] == [manifest.NAME]
    assert (TWO.until, Manifest("token", ()).until) == (9, 0)


def test_every_publication_is_another_version(tmp_path):
    versions = [manifest.version(tmp_path)]
    for _ in range(5):
        manifest.publish(tmp_path, TWO)
        versions.append(manifest.version(tmp_path))
    assert len(set(versions)) == 6


def with_other(**values):
    return lambda outer: json.dumps(outer | values)


def with_inner(**values):
    return lambda outer: json.dumps(outer | {"manifest": outer["manifest"] | values})


@pytest.mark.parametrize(
    "broken",
    [
        lambda outer: "",
        lambda outer: "{",
        lambda outer: "[]",
        lambda outer: "null",
        lambda outer: "7",
        lambda outer: "[" * 100_000,
        lambda outer: "{}",
        lambda outer: json.dumps(outer)[:-20],
        lambda outer: json.dumps(outer).replace("second", "secone"),
        with_other(checksum="0" * 16),
        with_other(manifest=[]),
        with_inner(token="another"),  # noqa: S106 - no secret
        with_inner(segments=None),
    ],
)
def test_broken_manifest_is_refused(tmp_path, broken):
    manifest.publish(tmp_path, TWO)
    path = tmp_path / manifest.NAME
    path.write_text(broken(json.loads(path.read_text())))
    with pytest.raises(ValueError, match="is broken"):
        manifest.read(tmp_path, "token")


def test_manifest_of_another_version_is_told_apart(tmp_path, monkeypatch):
    manifest.publish(tmp_path, TWO)
    monkeypatch.setattr(manifest, "FORM", manifest.FORM + 1)
    with pytest.raises(manifest.AnotherVersion, match="is of another version of Tessera"):
        manifest.read(tmp_path, "token")


@pytest.mark.parametrize("segments", [None, [1], [{}], [{"folder": "a", "span": 3, "files": {}}]])
def test_manifest_of_an_odd_shape_is_refused_even_with_its_checksum(tmp_path, segments):
    inner = {"token": "token", "segments": segments}
    outer = {"form": manifest.FORM, "checksum": manifest._checksum(inner), "manifest": inner}
    (tmp_path / manifest.NAME).write_text(json.dumps(outer))
    with pytest.raises(ValueError, match="is broken"):
        manifest.read(tmp_path, "token")


def test_manifest_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / manifest.NAME).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="codec"):
        manifest.read(tmp_path, "token")
    (tmp_path / manifest.NAME).unlink()
    (tmp_path / manifest.NAME).mkdir()
    with pytest.raises(ValueError, match="cannot be read"):
        manifest.read(tmp_path, "token")


def test_manifest_of_another_collection_is_refused(tmp_path):
    manifest.publish(tmp_path, TWO)
    with pytest.raises(ValueError, match="not written for this collection"):
        manifest.read(tmp_path, "another token")


def test_unfinished_manifest_is_never_read(tmp_path):
    manifest.publish(tmp_path, TWO)
    (tmp_path / f"{manifest.NAME}.partial").write_text("{")
    assert manifest.read(tmp_path, "token") == TWO
    manifest.publish(tmp_path, TWO)
    assert [path.name for path in tmp_path.iterdir()] == [manifest.NAME]
