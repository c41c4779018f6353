import pytest
import torch

from models.captions.captioning import FIRST_WORD
from models.captions.evidence import Evidence, reliability


def test_evidence_is_how_much_more_than_usual_a_photo_is_like_a_word():
    """e_w = (max_i v_i·n_w − μ_w) / σ_w, by a literal loop."""
    torch.manual_seed(0)
    evidence = Evidence(words=3, joint=4)
    evidence.names.copy_(torch.randn(3, 4))
    evidence.photos.copy_(torch.tensor([[0.1, 0.2, 0.3], [1.0, 2.0, 0.5]]))
    fragments = torch.randn(1, 5, 4)
    found = evidence(evidence.of_photos(fragments), evidence.photos)[0]
    assert found[:FIRST_WORD].tolist() == [0, 0]
    for w in range(3):
        best = max(float(v @ evidence.names[w]) for v in fragments[0])
        expected = (best - float(evidence.photos[0, w])) / float(evidence.photos[1, w])
        assert float(found[FIRST_WORD + w]) == pytest.approx(max(-4, min(8, expected)), abs=1e-5)


def test_words_whose_evidence_tells_photos_apart_are_reliable():
    torch.manual_seed(0)
    has = torch.rand(400, 3) < torch.tensor([0.5, 0.5, 0.01])
    similarities = torch.randn(400, 3)
    similarities[:, 0] += 5 * has[:, 0]
    similarities[:, 2] += 5 * has[:, 2]  # of too few photos
    found = reliability(similarities, has)
    assert found[0] == 1
    assert found[1] < 0.2
    assert found[2] == 0


def test_a_word_is_doubted_where_little_speaks_for_it_and_much_for_others():
    """d_w = ρ_w max(0, (ē − e_w) / 2 − e_w), by a literal loop."""
    evidence = Evidence(words=4, joint=2)
    evidence.reliability.copy_(torch.tensor([1.0, 1.0, 0.5, 0.0]))
    e = torch.tensor([[0.0, 0.0, 6.0, 0.5, -1.0, -1.0]])
    most = float(e.mean())
    found = evidence.doubt(e)[0].tolist()
    for at, rho in enumerate([0, 0, 1.0, 1.0, 0.5, 0.0]):
        value = float(e[0, at])
        assert found[at] == pytest.approx(rho * max(0.0, (most - value) / 2 - value), abs=1e-6)
    assert found[2] == 0
    assert found[4] > 0
