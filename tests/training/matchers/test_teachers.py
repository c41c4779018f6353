import json
from dataclasses import replace

import pytest
import torch

from models import checkpoint, header
from models.scores.scoring import SCORES
from models.types import PaddedBags
from training.data.batches import batches
from training.evaluation.embedding import read_pixels
from training.matchers import train as run
from training.matchers.folders import plan_teachers
from training.matchers.preset import Teachers, parse, read
from training.matchers.teachers import load_teachers
from training.report import measurements
from training.report.reproduce import Publisher, plan, reproduce
from training.runs.folder import Reporter, RunFolder


@pytest.fixture
def taught(preset):
    """Two epochs, from two teachers of two epochs."""
    preset = preset.with_epochs(2)
    aims = parse("mine", {
        "model": {"image": {"name": "cells"}, "text": {"name": "known_words"}},
        "teachers": {"preset": "scenes"},
        "objective": [{"name": "contrastive"}, {"name": "distillation", "temperature": 3.0}],
    }).objectives  # fmt: skip
    return replace(preset, name="taught", objectives=aims, teachers=Teachers(preset, 2))


def told(folder):
    return json.loads((folder / "run.json").read_text())


def losses(folder):
    return [one["loss"] for one in told(folder)["epochs"]]


def stop(*_):
    raise KeyboardInterrupt


class Diary:
    """Keeps a training's reports."""

    def __init__(self, stop_after=None):
        self.begun, self.epochs, self.stop_after = [], [], stop_after
        self.reporter = Reporter(report=self.report, begins=self.begun.append)

    def report(self, record):
        self.epochs.append(record.epoch)
        if len(self.epochs) == self.stop_after:
            raise KeyboardInterrupt


def expected_scores(file, examples, batch):
    """A checkpoint's scores of a batch, by a service's path."""
    model = checkpoint.load(file).model
    texts = [text for example in examples for text in example.sentences]
    images = model.embed_images([read_pixels(examples[k].image) for k in batch.images])
    sentences = model.embed_sentences([texts[at] for at in batch.sentences])
    bags = [PaddedBags.of([bag.vectors for bag in side]) for side in (images, sentences)]
    return SCORES[model.score](*bags)


def test_teachers_score_batches_as_a_service_would(preset, corpus, place):
    examples = corpus.split("train")
    files = [run.train(preset.with_epochs(1), corpus, replace(place, seed=seed)) for seed in (0, 1)]
    counts = [len(example.sentences) for example in examples]
    batch = next(batches(counts, 20, seed=3, epoch=0, sentences=2))
    expected = [expected_scores(file, examples, batch) for file in files]
    mean = load_teachers(files, examples, place, "float32")(batch)
    assert torch.allclose(mean, (expected[0] + expected[1]) / 2, atol=0.05)  # kept in half
    assert not torch.allclose(*expected, atol=0.5)


def test_a_changed_photo_is_looked_at_again(preset, few, place):
    examples, seen = few.split("train"), place.cache / "taught"
    files = [run.train(preset.with_epochs(1), few, place)]
    load_teachers(files, examples, place, "float32")
    before = set(seen.iterdir())
    load_teachers(files, examples, place, "float32")
    assert set(seen.iterdir()) == before
    changed = [replace(examples[0], image=examples[1].image), *examples[1:]]
    load_teachers(files, changed, place, "float32")
    assert set(seen.iterdir()) > before


def test_a_run_learns_what_its_teachers_say(taught, corpus, place, monkeypatch):
    """Teachers' scores are the batch's own, in its order."""
    seen = []

    def spy(terms, match, epoch):
        seen.append(match)
        return weigh_terms(terms, match, epoch)

    weigh_terms = run.weigh_terms
    monkeypatch.setattr(run, "weigh_terms", spy)
    run.train(replace(taught, schedule=replace(taught.schedule, epochs=1)), corpus, place)
    own = [match for match in seen if match.taught is not None]
    assert len(seen) == 5 * len(own)  # one epoch, and two of each teacher without lessons
    # Two epochs of contrastive learning already rank true pairs above others.
    true = torch.cat([match.taught[match.true] for match in own]).mean()
    false = torch.cat([match.taught[~match.true] for match in own]).mean()
    assert true > false + 1


def test_teachers_are_trained_once_beside_the_run_and_named_in_it(taught, few, place):
    diary = Diary()
    best = run.train(taught, few, place, reporter=diary.reporter)
    assert diary.begun == ["teacher cells-0", "teacher cells-1", "taught-0"]
    teachers = [place.out / f"cells-{seed}" / "matcher.safetensors" for seed in (0, 1)]
    facts = checkpoint.load(best).facts
    assert facts["teachers"] == [header.fingerprint(one) for one in teachers]
    made = [one.stat().st_mtime_ns for one in teachers]
    again = Diary()
    run.train(taught, few, replace(place, seed=1), reporter=again.reporter)
    # The second teacher of the one is the first here.
    assert again.begun == ["teacher cells-2", "taught-1"]
    assert [one.stat().st_mtime_ns for one in teachers] == made


def test_a_broken_off_teacher_is_gone_on_with(taught, few, place):
    with pytest.raises(KeyboardInterrupt):
        run.train(taught, few, place, reporter=Diary(stop_after=1).reporter)
    diary = Diary()
    run.train(taught, few, place, resume=True, reporter=diary.reporter)
    assert diary.begun == ["teacher cells-0", "teacher cells-1", "taught-0"]
    assert diary.epochs == [2, 1, 2, 1, 2]


def test_a_taught_run_that_is_resumed_equals_an_unbroken_one(taught, few, place, tmp_path):
    whole = run.train(taught, few, replace(place, out=tmp_path / "whole"))
    with pytest.raises(KeyboardInterrupt):
        run.train(taught, few, place, reporter=Diary(stop_after=5).reporter)  # its own first
    diary = Diary()
    resumed = run.train(taught, few, place, resume=True, reporter=diary.reporter)
    assert diary.epochs == [2]
    assert losses(resumed.parent) == losses(whole.parent)
    assert checkpoint.load(resumed).facts == checkpoint.load(whole).facts


def test_a_crash_before_the_first_run_file_keeps_the_teachers(taught, few, place, monkeypatch):
    write = RunFolder.write

    def crash(folder, history):
        if history and folder.path.name == "taught-0":
            raise KeyboardInterrupt  # after last.pt
        write(folder, history)

    monkeypatch.setattr(RunFolder, "write", crash)
    with pytest.raises(KeyboardInterrupt):
        run.train(taught, few, place)
    monkeypatch.setattr(RunFolder, "write", write)
    best = run.train(taught, few, place, resume=True)
    assert len(told(best.parent)["teachers"]) == 2
    assert len(losses(best.parent)) == 2


def test_a_finished_run_needs_its_teachers_no_more(taught, few, place):
    best = run.train(taught, few, place)
    for seed in (0, 1):
        (place.out / f"cells-{seed}" / "run.json").unlink()
    diary = Diary()
    assert run.train(taught, few, place, resume=True, reporter=diary.reporter) == best
    assert (diary.begun, diary.epochs) == ([], [])


def test_other_teachers_do_not_finish_what_the_first_began(taught, few, place):
    with pytest.raises(KeyboardInterrupt):
        run.train(taught, few, place, reporter=Diary(stop_after=5).reporter)
    files = [place.out / f"cells-{seed}" / "matcher.safetensors" for seed in (0, 1)]
    files[0].write_bytes(files[1].read_bytes())
    with pytest.raises(ValueError, match="taught-0 learned from other teachers"):
        run.train(taught, few, place, resume=True)


def test_what_was_made_otherwise_or_lost_its_weights_is_no_teacher(taught, few, place):
    other = taught.teachers.preset
    run.train(replace(other, schedule=replace(other.schedule, batch=20)), few, place)
    with pytest.raises(
        ValueError, match=r"cells-0 was made with another preset \(preset\..*\) and is no teacher"
    ):
        run.train(taught, few, place)
    best = run.train(other, few, replace(place, seed=1))
    best.unlink()
    with pytest.raises(LookupError, match=r"cells-1 has lost matcher\.safetensors"):
        run.train(taught, few, replace(place, seed=1))


def test_teachers_begin_where_the_run_begins_if_they_are_of_its_model(taught, few, place):
    start = run.train(taught.teachers.preset.with_epochs(1), few, place)
    started = replace(place, out=place.out / "started", start=start)
    (_, one), _ = plan_teachers(taught, started)
    assert (one.start, one.seed) == (start, 0)
    run.train(taught, few, started)
    assert told(started.out / "cells-0")["start"] == header.fingerprint(start)
    stranger = replace(taught.teachers.preset, model=read("dvsa").model)
    (_, one), _ = plan_teachers(replace(taught, teachers=Teachers(stranger)), started)
    assert one.start is None


def test_wrong_options_show_before_any_teacher_is_trained(taught, few, place):
    wrong = replace(taught, optimizer=replace(taught.optimizer, rates={"wrods.": 0.1}))
    with pytest.raises(ValueError, match="no parameter starts with 'wrods"):
        run.train(wrong, few, place)
    assert not (place.out / "cells-0").exists()


def test_teachers_are_planned_before_those_whom_they_teach(taught, few, place):
    rows = [taught, taught.teachers.preset]
    planned = plan(rows, few, place, seeds=2)
    assert [(one.name, one.row) for one in planned] == [
        ("cells-0", True), ("cells-1", True), ("taught-0", True), ("cells-2", False),
        ("taught-1", True),
    ]  # fmt: skip


def test_a_mere_teacher_is_no_row_of_the_page(taught, few, place, tmp_path):
    publisher = Publisher(tmp_path / "measurements.jsonl", tmp_path / "results.md")
    assert reproduce(plan([taught], few, place, seeds=1), few, publisher) == {}
    assert list(measurements.read(publisher.results)) == ["taught-0"]
    assert [one.name for one in plan([taught], few, place, seeds=1)] == ["taught-0"]


def test_a_teacher_of_an_earlier_form_stops_the_plan_before_anything_is_trained(taught, few, place):
    other = taught.teachers.preset
    run.train(replace(other, schedule=replace(other.schedule, batch=20)), few, place)
    with pytest.raises(
        ValueError, match=r"cells-0 was made with another preset \(preset\..*\) and is no teacher"
    ):
        plan([taught], few, place, seeds=1)
