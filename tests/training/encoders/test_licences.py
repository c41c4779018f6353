import json

import pytest

from training.encoders import licences

RESEARCH = "MobileCLIP's weights are for research only (Apple ML Research licence)"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "clip-b-32"
    made.mkdir()
    (made / "config.json").write_text(json.dumps({"model_type": "clip"}))
    return made


def card(folder, front):
    (folder / "README.md").write_text(f"---\n{front}\n---\n# A model\nlicense: mit\n")


def test_the_licence_is_read_from_the_front_matter(folder):
    card(folder, "license: apache-2.0\ntags: [clip]")
    assert licences.find_licence(folder, "x/clip-b-32") == licences.Licence("apache-2.0", ())


def test_a_named_licence_comes_before_other(folder):
    card(folder, "license: other\nlicense_name: apple-amlr")
    assert licences.find_licence(folder, "x").name == "apple-amlr"


@pytest.mark.parametrize("text", ["", "# license: mit", "---\nlicense: mit", "---\n- a\n---\n"])
def test_a_folder_that_says_nothing_is_warned_of(folder, text):
    (folder / "README.md").write_text(text)
    found = licences.find_licence(folder, "x")
    assert (found.name, len(found.warnings)) == ("", 1)


@pytest.mark.parametrize(
    ("front", "name", "warning"),
    [
        ("license: cc-by-nc-4.0", "x", "the licence cc-by-nc-4.0 allows non-commercial use only"),
        ("license: mit", "apple/MobileCLIP2-S0", RESEARCH),
        ("license: other", "x", "the folder calls its licence 'other': read it before you rely"),
        ("license: cc-by-nc-4.0", "facebook/metaclip-2", "MetaCLIP's weights are for non-comm"),
        ("license: cc-by-nc-4.0", "jinaai/jina-clip-v2", "jina-clip-v2's weights are for non-c"),
    ],
)
def test_what_may_not_be_used_by_all_is_told(folder, front, name, warning):
    card(folder, front)
    (told,) = licences.find_licence(folder, name).warnings
    assert told.startswith(warning)


def test_a_name_in_the_settings_counts_too(folder):
    (folder / "config.json").write_text(json.dumps({"_name_or_path": "apple/MobileCLIP-B"}))
    card(folder, "license: mit")
    assert licences.find_licence(folder, "mine").warnings == (RESEARCH,)
