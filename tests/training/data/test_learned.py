from pathlib import Path

import pytest

from training.data import learned
from training.data.corpus import Corpus, Example


def photos(folder: Path, **contents: bytes) -> list[Example]:
    """Files of some bytes as examples."""
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [Example(name, folder / name, ()) for name in contents]


def test_learned_photos_are_left_out_under_any_name(tmp_path):
    learned_photos = photos(tmp_path, a=b"cup", b=b"dog")
    facts = {learned.KEY: learned.digest_photos([*learned_photos, *learned_photos])}
    assert len(facts[learned.KEY]) == 2
    measured = photos(tmp_path, copy=b"dog", new=b"cat")
    assert [example.id for example in learned.leave_out(measured, facts)] == ["new"]
    assert learned.describe(2, 1) == "1 of the 2 photos are left out: the checkpoint learned them"


def test_a_measurement_of_learned_photos_alone_is_refused(tmp_path):
    examples = photos(tmp_path, a=b"cup")
    with pytest.raises(ValueError, match="learned all 1 of these photos: measure it on others"):
        learned.leave_out(examples, {learned.KEY: learned.digest_photos(examples)})


def test_a_checkpoint_that_learned_no_catalogue_leaves_nothing_out(tmp_path):
    examples = photos(tmp_path, a=b"cup")
    assert learned.leave_out(examples, {}) is examples


def test_photos_of_val_and_test_in_train_are_found_under_any_name(tmp_path):
    dog, cat, bus = photos(tmp_path, dog=b"dog", cat=b"cat", bus=b"a bus")
    copy, new = photos(tmp_path, copy=b"dog", new=b"cup")
    missing = Example("missing", tmp_path / "missing", ())
    splits = {
        "train": (dog, missing),
        "restval": (bus,),
        "val": (copy, new, missing),
        "test": (bus, cat),
    }
    shared = learned.find_shared(Corpus("pets", splits))
    assert shared == [copy, bus]
    assert learned.describe_shared(shared).startswith(
        f"2 photos of val or test are in train, too, the first is {tmp_path / 'copy'}: "
    )
    assert learned.find_shared(Corpus("pets", {"train": (dog,), "val": (cat,)})) == []
