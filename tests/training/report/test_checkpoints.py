from training.report.checkpoints import magnitude_sections, sections

CHECKPOINT = {"preset": "tessera", "seed": 1, "checkpoint": "ab12", "data": "flickr8k"}
FLICKR = CHECKPOINT | {"trained_on": "flickr8k", "split": "val"}


def direction(first, median=3.0, mean=12.34):
    recalls = {"recall_1": first, "recall_5": 60.0, "recall_10": 70.0}
    return recalls | {"median_rank": median, "mean_rank": mean}


def measured(**others):
    retrieval = {"annotation": direction(35.0), "search": direction(27.0, 4.0, 15.0)}
    return FLICKR | {"retrieval": retrieval, "similarity": direction(17.0)} | others


def page(*rows):
    return "\n".join(sections(rows))


def test_a_checkpoint_is_named_by_its_fingerprint():
    assert (
        "| tessera, seed 1, ab12 | flickr8k val | 35.0 / 60.0 / 70.0 | 27.0 / 60.0 / 70.0 "
        "| 3, 4 | 12.3, 15.0 | 17.0 / 60.0 / 70.0 |"
    ) in page(measured())
    assert "| 12.3, 15.0 | – |" in page(measured(similarity=None))
    assert "| flickr8k val ‡ | 35.0" in page(measured(frozen=True))


def test_photos_of_other_data_than_those_of_training_are_the_open_world():
    other = page(measured(data="pascal_part"))
    assert "## Open world: photos and sentences" in other
    assert "| pascal_part val |" in other
    assert "## Checkpoints" not in other
    assert "## Open world" not in page(measured())


def test_each_field_of_a_search_by_categories_has_a_row():
    kinds = {"field": "kind", "photos": 2640, "categories": 40, "rare": 3, "chance": 2.34}
    kinds |= {"mean_precision": 12.3, "precision_1": 30.0, "precision_5": 22.5}
    shop = FLICKR | {"data": "shop", "queries": None}
    text = page(shop | {"categories": [kinds, kinds | {"field": "aisle"}]})
    assert "| shop val | kind | 2,640 | 40 (3) | 12.3 | 30.0 | 22.5 | 2.3 |" in text
    assert "| shop val | aisle |" in text
    assert "## Open world: queries" not in text


def test_queries_are_counted_with_their_photos():
    answers = [{"text": "a cup", "id": "cup", "rank": 1, "first": "cup"}] * 20
    queries = {"photos": 45, "right_1": 95.0, "right_5": 100.0, "answers": answers}
    text = page(FLICKR | {"data": "sample", "categories": [], "queries": queries})
    assert "| sample val | 20 | 45 | 95.0 | 100.0 |" in text
    assert "## Open world: categories" not in text


def test_links_show_what_a_region_adds_and_what_is_lost_without_it():
    links = {"regions": 200, "linked": 8.4, "added": 4.0, "removed": 0.4, "elsewhere": 0.6}
    links |= {"removed_correlation": 0.98, "greyed": 5.0, "greyed_correlation": None}
    text = page(measured(occlusion=links, faithfulness={"share": 5.28}))
    assert ("| 200 | 8.40 | 4.00 | 0.40 (10 %, r 0.98) | 5.00 (125 %, r –) | 0.60 | 5 % |") in text
    assert "## Links" not in page(measured(occlusion=None))


def test_proposers_have_their_own_table():
    proposer = {"name": "detector", "checkpoint": "ef56", "data": "flickr8k", "split": "val"}
    text = page(proposer | {"recalls": {"1": 23, "5": 69, "10": 77, "20": 84}})
    assert "| detector ef56 | flickr8k val | 23.0 / 69.0 / 77.0 / 84.0 |" in text


def test_words_of_most_and_least_weight_are_named():
    words = [{"word": word, "mean": mean, "count": 9} for word, mean in (("dog", 2), ("the", 0.1))]
    about = FLICKR | {"words": 2, "largest": words, "smallest": words}
    text = "\n".join(magnitude_sections([about]))
    assert "| flickr8k val | 2 | dog 2.00, the 0.10 | the 0.10, dog 2.00 |" in text
