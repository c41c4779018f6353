import inspect

import pytest
import torch

from training.matchers import loss, objectives
from training.matchers.loss import ObjectiveTerm, weigh_terms

HALF = """
from training.matchers.objectives import Match

def half(match: Match, share: float = 0.5):
    return share * match.scores.sum()
"""


@pytest.mark.parametrize("name", loss.list_names())
def test_every_module_of_the_folder_is_an_objective_whose_options_have_defaults(name):
    match, *others = inspect.signature(loss.find(name)).parameters.values()
    assert (match.name, match.annotation) == ("match", "Match")
    assert {one.name for one in others} == loss.list_options(name)
    assert all(one.default is not inspect.Parameter.empty for one in others)


def test_a_module_put_into_the_folder_can_be_named(tmp_path, monkeypatch, matched):
    (tmp_path / "half.py").write_text(HALF)
    monkeypatch.setattr(objectives, "__path__", [*objectives.__path__, str(tmp_path)])
    assert "half" in loss.list_names()
    assert loss.list_options("half") == {"share"}
    terms = [
        ObjectiveTerm("half", weight=2.0),
        ObjectiveTerm("half", last=1, options={"share": 0.25}),
    ]
    scores = matched(torch.ones(2, 2))
    first, second = (weigh_terms(terms, scores, epoch) for epoch in (1, 2))
    assert (first.total.item(), second.total.item()) == (5.0, 4.0)
    assert (first.terms["half"].item(), second.terms["half"].item()) == (3.0, 2.0)  # unweighted


def test_an_unknown_objective_names_the_ones_there_are():
    with pytest.raises(LookupError, match="no objective 'hinge'; there are: contrastive, dist"):
        loss.find("hinge")
