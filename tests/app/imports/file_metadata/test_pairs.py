"""Raw files, Live Photos and sidecars belong to their photos."""

from __future__ import annotations

import re

import pytest

from app.imports.file_metadata.pairs import LONGEST_LIVE, FileSize, group

NUMBER = re.compile(r"\(\d+\)(?=\.|$)")  # of a photo's name


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
        (["a.jpg", "a.png"], ["a.jpg.json"], {"a.jpg": ["a.jpg.json"], "a.png": []}),
        (["a.jpg", "a.png"], ["a.png.json"], {"a.jpg": [], "a.png": ["a.png.json"]}),
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


@pytest.mark.parametrize(
    ("sidecar", "photo"),
    [
        ("supp.jpg.supplemental-metadata(1)", "supp(1).jpg"),
        ("supp.jpg.supplemental-me(12)", "supp(12).jpg"),
        ("supp.jpg.s(3)", "supp(3).jpg"),
        ("supp.jpg.(3)", "supp(3).jpg"),
        ("a.jpg(1)", "a(1).jpg"),
        ("a.b.jpg(2)", "a.b(2).jpg"),
        ("a.b.SRW(2)", "a.b(2).SRW"),
        ("a(1).jpg(2)", "a(1)(2).jpg"),
        ("a(1).jpg", "a(1).jpg"),
        ("a(1).jpg.suppl", "a(1).jpg"),
        (f"{'x' * 46}(1)", f"{'x' * 47}(1).jpg"),
        ("no ending(1)", "no ending(1)"),
    ],
)
def test_numbered_sidecars_of_takeout_belong_to_the_numbered_photo(
    sidecar: str, photo: str
) -> None:
    other = NUMBER.sub("", photo)
    photos = sorted({photo, other, f"{other}.jpg"})
    groups = {each: [f"{sidecar}.json"] if each == photo else [] for each in photos}
    assert pair(photos, [f"{sidecar}.json"]) == (groups, [])


@pytest.mark.parametrize(
    "edited",
    [
        *(
            "IMG_7-edited.jpg",
            "IMG_7-bearbeitet.jpg",
            "IMG_7-modifié.jpg",
            "img_7-modifie\u0301.JPG",
        ),
        *("IMG_7-editado.jpg", "IMG_7-ha editado.jpg", "IMG_7-modificato.jpg"),
        *("IMG_7-bewerkt.jpg", "IMG_7-edited.png"),
    ],
)
def test_an_edited_copy_has_the_sidecar_of_its_original(edited: str) -> None:
    sidecars = ["IMG_7.jpg.suppl.json"]
    groups, alone = pair([edited, "IMG_7.jpg", "IMG_7-edit.jpg"], [*sidecars, "IMG_7.xmp"])
    own = {edited: sidecars, "IMG_7.jpg": [*sidecars, "IMG_7.xmp"], "IMG_7-edit.jpg": []}
    assert (groups, alone) == (own, [])


def test_a_numbered_edited_copy_has_the_sidecar_of_the_numbered_photo() -> None:
    photos = ["a(1).jpg", "a-edited(1).jpg", "a-edited.jpg", "a.jpg"]
    assert pair(photos, ["a.jpg(1).json", "a.jpg.json"]) == (
        {each: ["a.jpg(1).json" if "(" in each else "a.jpg.json"] for each in photos},
        [],
    )


def test_other_files_stay_alone() -> None:
    assert pair(["a.jpg"], ["a.json", "b.xmp", "package.json"]) == (
        {"a.jpg": []},
        ["a.json", "b.xmp", "package.json"],
    )


def test_a_long_video_is_no_live_photo() -> None:
    groups, _ = group([FileSize("a.jpg", 1), FileSize("a.mov", LONGEST_LIVE + 1)], [])
    assert [each.main for each in groups] == ["a.jpg", "a.mov"]
