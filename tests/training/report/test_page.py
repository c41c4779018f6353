import json

import pytest

from training.matchers.preset import read
from training.report import page as report
from training.runs import presets as inheritance

OWN = {"objectives": [], "optimizer": {}, "schedule": {"epochs": 2}}


def direction(first: float) -> dict:
    return {"recall_1": first, "recall_5": 60.0, "recall_10": 70.0, "median_rank": 3.0,
            "mean_rank": 9.0}  # fmt: skip


def a_run(seed: int, annotation: float, search: float, preset: str = "tessera") -> dict:
    last = {"annotation": direction(annotation), "search": direction(search)}
    better = {"annotation": direction(99.0), "search": direction(99.0)}
    described = read(preset).describe() if preset in inheritance.list_names() else OWN
    return {
        "preset": json.loads(json.dumps(described | {"name": preset})),  # as run.json has it
        "seed": seed,
        "data": {"name": "flickr8k"},
        "epochs": [
            {"recall_sum": 458.0, "validation": better},
            {"recall_sum": annotation + search + 260.0, "validation": last},
        ],
    }


def test_seeds_of_a_preset_share_a_row_of_their_last_epochs():
    page = report.write_page([a_run(0, 30, 20), a_run(1, 32, 21), a_run(2, 34, 25)])
    assert (
        "| tessera | 3 | 32.0 / 60.0 / 70.0 | 22.0 / 60.0 / 70.0 | 314.0 (310.0–319.0) "
        "| 3, 3 | 9.0, 9.0 | – | – |"
    ) in page
    assert "### Systems, on flickr8k val" in page
    assert "### Claims" not in page
    assert "### Checkpoints" not in page


def test_a_run_with_photos_held_out_is_measured_once_on_val():
    run = a_run(0, 30, 20)
    run["val"] = {"annotation": direction(31.0), "search": direction(22.0)}
    assert "31.0 / 60.0 / 70.0 | 22.0 / 60.0 / 70.0 | 313.0 |" in report.write_page([run])


def test_a_run_of_an_earlier_form_of_a_preset_is_marked():
    old = a_run(0, 30, 20, "sdtrnn")
    old["preset"]["schedule"]["batch"] = 7
    other = a_run(0, 30, 20, "cca")
    other["preset"]["model"]["correlation"]["ridge"] = 0.1
    assert "| cca § | – |" in report.write_page([other])
    other["preset"]["model"] = "cca"  # as the first run files had it
    assert "| cca | – |" in report.write_page([other])
    page = report.write_page([old, a_run(0, 28, 19, "bow")])
    assert "| sdtrnn § | 1 |" in page
    assert "| bow | 1 |" in page
    assert "| sdtrnn § − bow | 1 |" in page


def test_runs_with_an_adopted_encoder_are_never_of_an_earlier_form():
    assert "| titles | 1 |" in report.write_page(
        [a_run(0, 30, 20, "cells") | {"preset": OWN | {"name": "titles"}}]
    )


def test_what_is_solved_for_has_one_row_and_no_seed():
    solved = a_run(0, 30, 20, "cca")
    with pytest.raises(ValueError, match="two lines hold cca"):
        report.write_page([solved, solved | {"seed": 1}])
    assert "| cca | – |" in report.write_page([solved])


def test_the_page_says_what_the_sentence_side_has_seen():
    page = report.write_page([a_run(0, 30, 20)])
    assert "4,845 (97 %)" in page
    assert "`two-branch-tfidf`" in page


def test_our_number_stands_beside_the_published_one():
    page = report.write_page([a_run(0, 12, 8, "dvsa")])
    (row,) = [one for one in page.splitlines() if one.startswith("| DVSA")]
    assert row == (
        "| DVSA | regions · words of a BRNN | dvsa | 1 | 12.0 / 60.0 / 70.0 | 8.0 / 60.0 / 70.0 "
        "| 280.0 | 3, 3 | 9.0, 9.0 | 16.5 / 40.6 / 54.2 | 11.8 / 32.1 / 44.7 "
        "| Karpathy & Fei-Fei 2015, table 5 |"
    )


def test_rows_come_in_the_papers_order_and_own_presets_last():
    runs = [a_run(0, 1, 1, preset) for preset in ("mine", "dvsa", "bow", "defrag")]
    page = report.write_page(runs)
    assert [one.split(" | ")[2] for one in page.splitlines() if "60.0 / 70.0" in one] == [
        "bow",
        "defrag",
        "defrag",  # DVSA compares with it
        "dvsa",
        "mine",
    ]


def test_a_claim_is_judged_over_common_seeds():
    runs = [a_run(0, 30, 20, "sdtrnn"), a_run(1, 34, 20, "sdtrnn"), a_run(2, 99, 99, "sdtrnn")]
    page = report.write_page([*runs, a_run(0, 28, 19, "bow"), a_run(1, 28, 20, "bow")])
    assert (
        "| SDT-RNN beats BoW | sdtrnn − bow | 2 | +4.5 ± 19.1 | +0.0 ± 0.0 | not clear | – |"
    ) in page
    assert "| sdtrnn − rnn | 0 | – | – | not measured |" in page


def test_the_summary_counts_claims_by_their_verdicts_and_says_what_is_missing():
    runs = [a_run(seed, 30 + seed, 20, "sdtrnn") for seed in (0, 1)]
    page = report.write_page([*runs, a_run(0, 28, 19, "ctrnn"), a_run(1, 28, 19, "ctrnn")])
    summary = page[: page.index("## How to read")]
    assert "- not judged: SDT-RNN beats CT-RNN." in summary
    assert "- not measured: SDT-RNN beats BoW; " in summary
    assert "**Pascal1K**: 329 of its 1,000 photos are here" in summary


def test_runs_of_fewer_photos_have_tables_of_their_own():
    few = a_run(0, 12, 8, "dvsa")
    few["preset"] |= {"name": "dvsa-1024-photos", "photos": 1024}
    page = report.write_page([a_run(0, 30, 20, "dvsa"), few])
    assert page.index("on flickr8k val\n") < page.index("learned from 1,024 photos")
    assert page.count("| DVSA | regions · words of a BRNN | dvsa | 1 |") == 2


def test_terms_of_the_loss_are_shown_by_epoch():
    run = a_run(0, 12, 8, "defrag-dense")
    run["curve"] = [{"terms": {"fragments": 1.9, "ranking": 900.0}},
                    {"terms": {"fragments": 0.9, "ranking": 250.0}}]  # fmt: skip
    page = report.write_page([run])
    assert "| defrag-dense | 1 | fragments | 1.9 → 0.9 |" in page
    assert "| defrag-dense | 1 | ranking | 900 → 250 |" in page


def test_mean_ranks_are_those_of_sentences_of_search_and_of_description():
    run = a_run(0, 12, 8, "bow")
    run["val"] = run["epochs"][-1]["validation"] | {"similarity": direction(5.0)}
    page = report.write_page([run])
    assert "| BoW | flickr8k val | 1 | 9.0 | 9.0 | 9.0 | 11.8 / 14.6 / 21.1 |" in page


def test_a_page_on_other_data_names_them_and_says_nothing_of_flickr8k():
    pets = {"data": {"name": "pets", "digest": "ab"}}
    page = report.write_page([a_run(0, 30, 20) | pets])
    assert "Measured here on pets." in page
    assert "over the sentences and photos of val of pets, from cached features" in page
    assert "Flickr8k" not in page
    assert "not be tested here" not in page
    judged = report.write_page([a_run(0, 30, 20, name) | pets for name in ("sdtrnn", "bow")])
    assert "compares it with, on train of pets, and measured on val. The table" in judged
    assert "Flickr8k" not in judged


def test_a_page_on_flickr8k_and_other_data_names_both():
    page = report.write_page([a_run(0, 30, 20), a_run(1, 30, 20) | {"data": {"name": "pets"}}])
    assert "and measured on 1,000 others; and on train of pets, and measured on val. The" in page
    assert "1,000 photos of Flickr8k's val and the sentences and photos of val of pets" in page
    assert "### What could not be tested here" in page


def test_corpora_are_not_mixed():
    elsewhere = a_run(0, 28, 19, "bow") | {"data": {"name": "flickr30k"}}
    page = report.write_page([a_run(0, 30, 20, "sdtrnn"), elsewhere])
    assert "### Systems, on flickr30k val" in page
    assert "### Claims" not in page


def test_runs_on_different_data_of_one_name_are_refused():
    first, second = (
        a_run(seed, 30, 20) | {"data": {"name": "pets", "digest": digest}}
        for seed, digest in enumerate(("ab", "cd"))
    )
    with pytest.raises(ValueError, match="two data sets are named pets, with the digests ab and"):
        report.write_page([first, second])
    assert "| tessera | 2 |" in report.write_page([first, second | {"data": first["data"]}])


def test_two_lines_of_one_run_are_refused():
    with pytest.raises(ValueError, match="two lines hold tessera on flickr8k val with seed 1"):
        report.write_page([a_run(1, 30, 20), a_run(1, 31, 20)])


def test_a_file_without_measurements_is_refused(tmp_path):
    with pytest.raises(LookupError, match="no measurement: --add the run"):
        report.publish(tmp_path / "measurements.jsonl", tmp_path / "results.md")


PART = {"recipe": {}, "seed": 0, "data": {"name": "flickr8k"}, "epochs": [{"validation": {}}]}


def write(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))
    return file


@pytest.fixture
def results(tmp_path):
    """A file of one run's measurement."""
    file = tmp_path / "measurements.jsonl"
    report.publish(
        file, tmp_path / "before.md", [write(tmp_path / "bow-0/run.json", a_run(0, 3, 2))]
    )
    return file


@pytest.mark.parametrize(
    ("content", "mistake"),
    [(PART, r"cap\.run/run\.json is the run of a captioner, .* measure its checkpoint by"),
     ([{"text": "a dog"}], r"run\.json is no measurement: give the run\.json of a matcher"),
     ({"queries": 3}, r"run\.json is no measurement"),
     ({"epochs": 3, "preset": {}}, r"run\.json is damaged, or was not written as"),
     ({"checkpoint": "a", "unsure_below": 0.5}, r"run\.json is damaged.*KeyError\('captions'\)"),
     (a_run(0, 3, 2), "two lines hold tessera on flickr8k val with seed 0")],
)  # fmt: skip
def test_an_unusable_file_is_refused_before_anything_is_written(
    content, mistake, results, tmp_path
):
    before = results.read_bytes()
    file = write(tmp_path / "cap.run" / "run.json", content)
    with pytest.raises(ValueError, match=mistake):
        report.publish(results, tmp_path / "results.md", [file])
    assert results.read_bytes() == before
    assert not (tmp_path / "results.md").exists()


def test_two_added_files_of_one_name_are_refused(results, tmp_path):
    before = results.read_bytes()
    files = [
        write(tmp_path / folder / "bow-1" / "run.json", a_run(1, 3, 2, "bow")) for folder in "ab"
    ]
    with pytest.raises(ValueError, match=r"b/bow-1/run\.json: another file is named bow-1, too"):
        report.publish(results, tmp_path / "results.md", files)
    assert results.read_bytes() == before


def test_a_file_that_is_no_json_is_named(results, tmp_path):
    picture = tmp_path / "a.jpg"
    picture.write_bytes(b"\xff\xd8\xff")
    with pytest.raises(ValueError, match=r"a\.jpg is not JSON \(.*give the run\.json of"):
        report.publish(results, tmp_path / "results.md", [picture])


@pytest.mark.parametrize("row", [PART, {"checkpoint": "a", "retrieval": {}}])
def test_an_unusable_line_is_named_by_its_number(row, results, tmp_path):
    with results.open("a") as lines:
        lines.write(json.dumps({"run": "cap.run"} | row) + "\n")
    for use in (lambda: report.read(results), lambda: report.publish(results, tmp_path / "x.md")):
        with pytest.raises(ValueError, match=r"measurements\.jsonl, line 2 is "):
            use()
