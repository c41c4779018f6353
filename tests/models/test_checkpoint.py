import json
import os
from dataclasses import dataclass, replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from models import checkpoint, header, shipped
from models.matcher import TwoTowerMatcher
from models.scores.calibration import Calibration
from models.scores.presence import Presence

IMAGE = {"name": "regions", "options": {"sizes": [96], "embedding": 8}}
TEXT = {"name": "brnn", "options": {"embedding": 8, "hidden": 8}}
CONFIG = {"image": IMAGE, "text": TEXT}
BIAS = "text.words.enter.bias"


@dataclass(frozen=True, slots=True)
class Size:
    width: int = 2


class Small(nn.Module):
    packaged = ("frozen.",)
    stored_in_half = ("big.",)

    def __init__(self):
        super().__init__()
        self.config = Size()
        self.frozen, self.big, self.fine = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)


@pytest.fixture
def rewritten(small_matcher, tmp_path):
    """Writes the small matcher's file again with another description or other weights."""

    def write(change_state=None, **changes):
        path = tmp_path / "changed.safetensors"
        state = load_file(small_matcher)
        (change_state or (lambda _: None))(state)
        described = {"kind": "matchers", "name": "dvsa", "config": CONFIG, "facts": {}} | changes
        described = {key: value for key, value in described.items() if value is not None}
        save_file(state, path, metadata={"tessera": json.dumps(described)})
        return path

    return write


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(LookupError, match=r"no checkpoint at .*gone"):
        checkpoint.load(tmp_path / "gone.safetensors")


def test_a_folder_is_said_to_be_one_with_its_newest_checkpoint(small_matcher, tmp_path):
    with pytest.raises(LookupError, match=r"is a folder: name a checkpoint, a file that ends in"):
        checkpoint.load(tmp_path)
    for at, name in enumerate(("newest", "older")):
        file = tmp_path / f"{name}.safetensors"
        file.write_bytes(small_matcher.read_bytes())
        os.utime(file, (1_000 - at, 1_000 - at))
    with pytest.raises(LookupError, match=r"is a folder: name a checkpoint, such as .*newest\.s"):
        header.read(tmp_path)


@pytest.mark.parametrize("content", [b"", b"hello", b"\xff" * 100])
def test_another_kind_of_file_is_refused(tmp_path, content):
    path = tmp_path / "photo.jpg"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a safetensors file"):
        checkpoint.load(path)


def test_models_compute_in_single_precision(small_matcher, monkeypatch):
    """GPUs take 10 bits of numbers in convolutions by default."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    checkpoint.load(small_matcher)
    assert not torch.backends.cudnn.allow_tf32


def test_half_a_file_is_refused(small_matcher, tmp_path):
    path = tmp_path / "half.safetensors"
    path.write_bytes(small_matcher.read_bytes()[:-100])
    with pytest.raises(ValueError, match="not a safetensors file"):
        checkpoint.load(path)


def test_tensors_of_another_program_are_refused(tmp_path):
    save_file({"weight": torch.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="no Tessera description"):
        checkpoint.load(tmp_path / "other.safetensors")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"config": {"width": 3}}, "another version of Tessera.*width"),
        ({"config": CONFIG | {"text": TEXT | {"options": {"width": 3}}}}, "another version.*width"),
        ({"config": None}, "another version of Tessera.*config"),
        ({"facts": None}, "another version of Tessera.*facts"),
        ({"config": 7}, "another version of Tessera"),
    ],
)
def test_a_description_of_another_version_is_refused(rewritten, changes, said):
    with pytest.raises(ValueError, match=said):
        checkpoint.load(rewritten(**changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"config": CONFIG | {"image": IMAGE | {"name": "nope"}}},
            "frame, late_interaction, pretrained, regions",
        ),
        ({"kind": "captioners", "name": "nope"}, "attentive, multimodal_rnn"),
        ({"kind": "poets"}, "image_towers"),
    ],
)
def test_an_unknown_model_is_refused_with_the_ones_there_are(rewritten, changes, said):
    with pytest.raises(LookupError, match=f"there are: .*{said}"):
        checkpoint.load(rewritten(**changes))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda state: state.pop(BIAS), r"lacks \['text.words.enter.bias'\]"),
        (lambda state: state.update(more=torch.zeros(1)), r"has \['more'\]"),
        (lambda state: state.update({BIAS: torch.zeros(3)}), r"\[3\].*wants \[8\]"),
        (lambda state: state[BIAS].fill_(torch.nan), r"enter.bias has numbers that are not finite"),
    ],
)
def test_weights_that_do_not_fit_are_named(rewritten, change, said):
    with pytest.raises(ValueError, match=said):
        checkpoint.load(rewritten(change_state=change))


def test_a_deferred_checkpoint_refuses_bytes_written_after_the_start(rewritten):
    path = rewritten()
    deferred, unchanged = checkpoint.DeferredCheckpoint(path), path.read_bytes()
    path.write_bytes(unchanged[:-100] + bytes(100))
    for _ in range(2):  # at once the second time
        with pytest.raises(ValueError, match="was changed after the start: start again"):
            _ = deferred.model
        path.write_bytes(unchanged)
    assert checkpoint.DeferredCheckpoint(path).model is not None


def test_a_deferred_checkpoint_has_the_weights_of_its_start(rewritten):
    path = rewritten(lambda state: state.update({BIAS: torch.ones(8)}), facts={"seed": 7})
    deferred = checkpoint.DeferredCheckpoint(path)
    path.unlink()
    rewritten(lambda state: state.update({BIAS: torch.zeros(8)}))
    assert (deferred.kind, deferred.name, deferred.facts) == ("matchers", "dvsa", {"seed": 7})
    assert deferred.fingerprint != header.fingerprint(path)
    with torch.inference_mode():
        model = deferred.model
    assert model is deferred.model
    assert not model.training
    bias = model.state_dict()[BIAS]
    assert bias.tolist() == [1.0] * 8
    assert not bias.is_inference()


def test_deferred_weights_that_do_not_fit_are_named_with_the_model(rewritten):
    deferred = checkpoint.DeferredCheckpoint(rewritten(lambda state: state.pop(BIAS)))
    with pytest.raises(ValueError, match=r"lacks \['text.words.enter.bias'\]"):
        _ = deferred.model
    with pytest.raises(ValueError, match="another version of Tessera"):
        checkpoint.DeferredCheckpoint(rewritten(config={"width": 3}))


def test_an_unchanged_file_loads_ready_to_answer(rewritten):
    loaded = checkpoint.load(rewritten(facts={"seed": 7}))
    assert (loaded.kind, loaded.name, loaded.facts) == ("matchers", "dvsa", {"seed": 7})
    assert isinstance(loaded.model, TwoTowerMatcher)
    assert not loaded.model.training


def test_trained_weights_alone_are_stored_and_half_where_asked(tmp_path):
    path = tmp_path / "folder" / "small.safetensors"
    checkpoint.save(path, "matchers", "small", Small(), {})
    stored = load_file(path)
    assert stored.keys() == {"big.weight", "big.bias", "fine.weight", "fine.bias"}
    assert stored["big.weight"].dtype == torch.float16
    assert stored["fine.weight"].dtype == torch.float32
    assert [file.name for file in path.parent.iterdir()] == ["small.safetensors"]


def test_a_part_declares_what_its_package_brings_and_what_is_stored_in_half():
    model = nn.Sequential(Small(), nn.ModuleDict({"part": Small()}))
    assert checkpoint.collect_prefixes(model, "packaged") == ("0.frozen.", "1.part.frozen.")
    assert checkpoint.collect_prefixes(model, "stored_in_half") == ("0.big.", "1.part.big.")
    assert {key.split(".")[-2] for key in checkpoint.collect_weights(model)} == {"big", "fine"}


def test_restored_weights_are_single_precision_and_packaged_ones_stay():
    model, other = Small(), Small()
    frozen = model.frozen.weight.clone()
    state = {key: value.half() for key, value in checkpoint.collect_weights(other).items()}
    checkpoint.restore(model, state)
    assert model.big.weight.dtype == torch.float32
    torch.testing.assert_close(model.big.weight, other.big.weight, rtol=1e-3, atol=1e-3)
    assert torch.equal(model.frozen.weight, frozen)


def test_fingerprint_changes_with_the_weights_alone(tmp_path):
    model, one, other = Small(), tmp_path / "one", tmp_path / "other"
    for path in (one, other):
        checkpoint.save(path, "matchers", "small", model, {})
    assert header.fingerprint(one) == header.fingerprint(other)
    assert len(header.fingerprint(one)) == 16
    with torch.no_grad():
        model.fine.bias += 1
    checkpoint.save(other, "matchers", "small", model, {})
    assert header.fingerprint(one) != header.fingerprint(other)


def test_a_calibration_comes_back_and_leaves_the_weights_alone(small_matcher, tmp_path):
    out = tmp_path / "calibrated.safetensors"
    made = Calibration(
        torch.ones(2, 8), torch.zeros(1, 8), torch.arange(12.0).view(3, 4), 0.25, frozenset({"x"})
    )
    checkpoint.calibrate(small_matcher, out, made)
    plain, calibrated = checkpoint.load(small_matcher), checkpoint.load(out)
    assert plain.calibration is None
    assert calibrated.calibration.weak_below == 0.25
    assert calibrated.calibration.words == {"x"}
    assert torch.equal(calibrated.calibration.coefficients, made.coefficients)
    assert calibrated.fingerprint == plain.fingerprint
    for key, value in plain.model.state_dict().items():
        assert torch.equal(calibrated.model.state_dict()[key], value)


def test_an_earlier_calibration_knows_nothing_of_texts(small_matcher, tmp_path):
    """Its coefficients of texts were fitted to sums of maxima."""
    out, earlier = tmp_path / "calibrated.safetensors", tmp_path / "earlier.safetensors"
    made = Calibration(torch.zeros(2, 8), torch.zeros(3, 8), torch.rand(3, 4), 0.25)
    checkpoint.calibrate(small_matcher, out, made)
    state, described = checkpoint.read(out)
    del described["calibration"]["texts"]
    checkpoint.write(earlier, state, described)
    loaded = checkpoint.load(earlier).calibration
    assert not loaded.compares_texts
    assert torch.equal(loaded.coefficients, made.coefficients[:2])
    checkpoint.calibrate(earlier, out, loaded)
    assert not checkpoint.load(out).calibration.compares_texts


def test_a_checkpoint_is_calibrated_anew_in_its_place(small_matcher, tmp_path):
    out = tmp_path / "calibrated.safetensors"
    for weak in (0.25, 0.5):
        source = out if out.is_file() else small_matcher
        made = Calibration(torch.ones(2, 8), torch.zeros(1, 8), torch.zeros(3, 4), weak)
        checkpoint.calibrate(source, out, made)
    loaded = checkpoint.load(out)
    assert loaded.calibration.weak_below == 0.5
    assert loaded.fingerprint == header.fingerprint(small_matcher)


def presence(limit: float = 2.0) -> Presence:
    directions = torch.arange(64.0).view(8, 8) / 64
    things = frozenset({"dog", "potted plant"})
    return Presence(directions, torch.ones(8), torch.zeros(8), 0.5, -3.0, limit, 1.5, things)


def test_a_presence_comes_back_from_inside_and_from_next_to_the_matcher(small_matcher, tmp_path):
    out = tmp_path / "calibrated.safetensors"
    made = Calibration(torch.ones(2, 8), torch.zeros(1, 8), torch.rand(3, 4), 0.25)
    checkpoint.calibrate(small_matcher, out, replace(made, presence=presence()))
    inside = checkpoint.load(out).calibration.presence
    assert (inside.limit, inside.margin, inside.things) == (2.0, 1.5, presence().things)
    assert torch.equal(inside.directions, presence().directions)
    before = out.read_bytes()
    file = checkpoint.save_presence(out, presence(limit=4.0))
    assert file.name == "calibrated.presence.safetensors"
    assert checkpoint.load(out).calibration.presence.limit == 4.0
    assert out.read_bytes() == before


def test_the_presence_of_another_matcher_is_not_read(small_matcher, tmp_path):
    out, other = tmp_path / "calibrated.safetensors", tmp_path / "other.safetensors"
    made = Calibration(torch.ones(2, 8), torch.zeros(1, 8), torch.rand(3, 4), 0.25)
    checkpoint.calibrate(small_matcher, out, made)
    assert checkpoint.load(out).calibration.presence is None
    model = checkpoint.load(small_matcher).model
    with torch.no_grad():
        dict(model.named_parameters())[BIAS].add_(1)
    checkpoint.save(other, "matchers", checkpoint.load(small_matcher).name, model, {})
    checkpoint.save_presence(other, presence()).replace(checkpoint.presence_path(out))
    assert checkpoint.load(out).calibration.presence is None


def test_the_captioner_was_calibrated_with_the_matcher_that_ships():
    described = header.read(shipped.CAPTIONER)
    assert described["captions"]["matcher"] == header.fingerprint(shipped.MATCHER)
