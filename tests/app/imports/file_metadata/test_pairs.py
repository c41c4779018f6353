"""Raw files, Live Photos and sidecars belong to their photos."""

from __future__ import annotations

import pytest

from app.imports.file_metadata.pairs import LONGEST_LIVE, FileSize, group


def pair(photos: list[str], sidecars: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    groups, alone = group([FileSize(name, 1) for name in photos], sidecars)
    return {each.main: each.others for each in groups}, alone


@pytest.mark.parametrize(
    ("photos", "sidecars", "groups"),
    [
        (["IMG_1.HEIC", "IMG_1.MOV"], [], {"IMG_1.HEIC": ["IMG_1.MOV"]}),
        (["a.NEF", "a.jpg"], [], {"a.jpg": ["a.NEF"]}),
        (["a.NEF"], [], {"a.NEF": []}),
        (["a.mp4"], [], {"a.mp4": []}),
        (["a.avi", "a.jpg"], [], {"a.avi": [], "a.jpg": []}),
        (["a.jpg", "b.jpg"], ["A.XMP"], {"a.jpg": ["A.XMP"], "b.jpg": []}),
        (["a.jpg", "a.png"], ["a.jpg.xmp"], {"a.jpg": ["a.jpg.xmp"], "a.png": []}),
        (["a.NEF"], ["a.NEF.xmp"], {"a.NEF": ["a.NEF.xmp"]}),
        (["a.jpg"], ["a.jpg.json"], {"a.jpg": ["a.jpg.json"]}),
        (
            ["a.jpg"],
            ["a.jpg.supplemental-metadata.json"],
            {"a.jpg": ["a.jpg.supplemental-metadata.json"]},
        ),
        (["a.jpg"], ["a.jpg.suppl.json"], {"a.jpg": ["a.jpg.suppl.json"]}),
        (
            ["a.jpg", "a(1).jpg"],
            ["a.jpg.json", "a.jpg(1).json"],
            {"a.jpg": ["a.jpg.json"], "a(1).jpg": ["a.jpg(1).json"]},
        ),
        ([f"{'x' * 50}.jpg"], [f"{'x' * 46}.json"], {f"{'x' * 50}.jpg": [f"{'x' * 46}.json"]}),
    ],
)
def test_files_of_one_photo(
    photos: list[str], sidecars: list[str], groups: dict[str, list[str]]
) -> None:
    assert pair(photos, sidecars) == (groups, [])


def test_other_files_stay_alone() -> None:
    assert pair(["a.jpg"], ["a.json", "b.xmp", "package.json"]) == (
        {"a.jpg": []},
        ["a.json", "b.xmp", "package.json"],
    )


def test_a_long_video_is_no_live_photo() -> None:
    groups, _ = group([FileSize("a.jpg", 1), FileSize("a.mov", LONGEST_LIVE + 1)], [])
    assert [each.main for each in groups] == ["a.jpg", "a.mov"]
