from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from training.grounders.objectives import PhraseMatch, supervised_loss, weak_loss

LEFT, RIGHT, ALL = [0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]


def batch(phrases, words=(0, 1), truth=(LEFT, RIGHT), boxes=(LEFT, RIGHT)):
    """Two phrases of one photo with two regions, (1, 0) and (0, 1)."""
    return PhraseMatch(
        regions=torch.eye(2)[None],
        phrases=torch.tensor(phrases, requires_grad=True),
        owners=torch.tensor([0, 0]),
        words=torch.tensor(words),
        truth=torch.tensor(truth),
        boxes=torch.tensor([boxes]),
    )


def test_phrases_on_their_regions_and_far_from_others_cost_nothing():
    assert supervised_loss(batch([[1.0, 0.0], [0.0, 1.0]]), margin=0.1, top=10, mining=1.0) == 0


def test_phrases_on_each_others_regions_cost_the_margin_and_the_way_back():
    swapped = batch([[0.0, 1.0], [1.0, 0.0]])
    one_way = 0.1 + 2**0.5  # d is √2 to the true region and 0 to the false one
    assert supervised_loss(swapped, 0.1, 10, mining=0.0).item() == pytest.approx(2 * one_way)
    assert supervised_loss(swapped, 0.1, 10, mining=1.0).item() == pytest.approx(3 * one_way)


def test_the_way_from_phrases_to_regions_has_a_weight():
    # Phrase 0 is on region 1, and phrase 1 between both: only phrase 0 has a region nearer by.
    swapped = batch([[0.0, 1.0], [1.0, 0.0]])
    one_way = 0.1 + 2**0.5
    assert supervised_loss(swapped, 0.1, 10, 0.0, lambda_1=2.0).item() == pytest.approx(3 * one_way)


def test_phrases_of_the_same_words_are_no_negatives_of_each_other():
    swapped = batch([[0.0, 1.0], [1.0, 0.0]], words=(7, 7))
    assert supervised_loss(swapped, 0.1, 10, mining=0.0) == 0


def test_neighbours_are_closer_than_others_by_the_margin():
    # Phrases 0 and 1 have the same words; phrase 2 lies nearer to 0 than 1 does.
    three = PhraseMatch(
        regions=torch.eye(3)[None],
        phrases=torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.0]]),
        owners=torch.zeros(3, dtype=torch.long),
        words=torch.tensor([7, 7, 8]),
        truth=torch.tensor([LEFT, RIGHT, ALL]),
        boxes=torch.tensor([[LEFT, RIGHT, ALL]]),
    )
    plain = supervised_loss(three, 0.1, 10, mining=0.0)
    phrases = supervised_loss(three, 0.1, 10, mining=0.0, lambda_3=3.0) - plain
    # [m + d(0,1) − d(0,2)] = 0.1 + 1 − 0.5, and nothing else: from 1 to 2 it is √1.25 away. The
    # overlap of ALL with LEFT is 0.5, so by their boxes 2 is a neighbour of 0, and of 1.
    assert phrases.item() == 0
    apart = replace(three, truth=torch.tensor([LEFT, RIGHT, [0.0, 0.0, 1.0, 0.4]]),
                    boxes=torch.tensor([[LEFT, RIGHT, [0.0, 0.0, 1.0, 0.4]]]))  # fmt: skip
    plain = supervised_loss(apart, 0.1, 10, mining=0.0)
    phrases = supervised_loss(apart, 0.1, 10, mining=0.0, lambda_3=3.0) - plain
    assert phrases.item() == pytest.approx(0.1 + 1 - 0.5, rel=1e-5)
    # Three regions a distance of √2 apart: two are neighbours, both at m from the third.
    regions = supervised_loss(apart, 0.1, 10, mining=0.0, lambda_2=3.0) - plain
    assert regions.item() == pytest.approx(2 * 0.1, rel=1e-4)
    mined = supervised_loss(apart, 0.1, 10, 1.0)
    assert supervised_loss(apart, 0.1, 10, 1.0, lambda_2=3.0, lambda_3=3.0) == mined


def test_a_phrase_that_no_proposal_finds_teaches_nothing():
    lost = batch([[1.0, 0.0], [1.0, 0.0]], truth=(LEFT, [0.9, 0.9, 1.0, 1.0]))
    assert supervised_loss(lost, 0.1, 10, mining=1.0) == 0


def test_without_boxes_a_phrase_turns_to_what_only_its_own_photo_shows():
    regions = F.normalize(
        torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]]), dim=-1
    )
    phrases = torch.tensor([[0.7, 0.7], [1.0, 0.0]], requires_grad=True)
    unknown = torch.zeros(2, 4)
    seen = PhraseMatch(
        regions, phrases, torch.tensor([0, 1]), torch.tensor([0, 1]), unknown, regions
    )
    weak_loss(seen, torch.zeros(2), temperature=0.2, sharpness=5.0).backward()
    down = -phrases.grad[0]
    assert down[1] > 0 > down[0]  # towards the region that the other photo lacks
