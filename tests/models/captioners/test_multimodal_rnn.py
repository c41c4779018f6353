import math

import pytest
import torch

from models import checkpoint
from models.captioners.multimodal_rnn import Config, Model, MultimodalRNN
from models.captions.captioning import FIRST_WORD, UNKNOWN
from models.registry import Generation
from models.types import PaddedBags

WORDS = ("a", "dog", "runs", "in", "the", "grass")
SIZES = {"views": ("lite0@64", "lite0@96"), "proposals": "windows", "embedding": 3, "hidden": 4}
CONFIG = Config(WORDS, **SIZES, longest=5)
BOTH = pytest.mark.parametrize("recurrence", ["rnn", "lstm"])


def language(recurrence="rnn", channels=6):
    torch.manual_seed(0)
    config = Config(WORDS, **SIZES, recurrence=recurrence)
    return MultimodalRNN(config, channels).eval()


def test_the_recurrence_is_that_of_equations_13_to_15():
    rnn = language()
    features = torch.rand(1, 1, 6)
    given = torch.tensor([[0, 2, 3]])
    # CNN(I): square roots, with mean 0 and deviation 1.
    seen = features[0, 0].sqrt()
    seen = (seen - seen.mean()) / (seen.var(unbiased=False) + 1e-5).sqrt()
    photo = rnn.photo.weight @ seen  # eq. 13
    hidden = torch.zeros(4)
    expected = []
    for t, word in enumerate(given[0]):
        sums = rnn.enter.weight @ rnn.words.weight[word] + rnn.enter.bias
        sums = sums + rnn.recur.weight @ hidden + (photo if t == 0 else 0)
        hidden = sums.clamp_min(0)  # eq. 14
        expected.append(rnn.out.weight @ hidden + rnn.out.bias)  # eq. 15, before the softmax
    outputs, state = rnn(given, rnn.look(PaddedBags.of(features)))
    torch.testing.assert_close(rnn.logits(outputs, state)[0], torch.stack(expected))


def test_an_lstm_is_that_of_torch_with_the_photo_in_its_first_sums():
    lstm = language("lstm")
    features, given = torch.rand(1, 1, 6), torch.tensor([[0, 2, 3]])
    state = lstm.look(PaddedBags.of(features))
    cell = torch.nn.LSTMCell(3, 4)
    order = [0, 1, 3, 2]  # torch has the candidate before the output gate

    def as_torch(weight):
        return torch.cat([weight.chunk(4)[one] for one in order])

    cell.weight_ih.data = as_torch(lstm.enter.weight.data)
    cell.weight_hh.data = as_torch(lstm.recur.weight.data)
    cell.bias_ih.data = as_torch(lstm.enter.bias.data) + as_torch(state[2][0])
    cell.bias_hh.data.zero_()
    first = cell(lstm.words(given[:, 0]))
    cell.bias_ih.data = as_torch(lstm.enter.bias.data)
    second = cell(lstm.words(given[:, 1]), first)
    outputs, _ = lstm(given, state)
    torch.testing.assert_close(outputs[:, 0], first[0])
    torch.testing.assert_close(outputs[:, 1], second[0])


@BOTH
def test_words_at_once_and_one_by_one_give_the_same(recurrence):
    model = language(recurrence)
    state = model.look(PaddedBags.of(torch.rand(2, 1, 6)))
    given = torch.tensor([[0, 2, 3], [0, 4, 5]])
    together, _ = model(given, state)
    for t in range(3):
        one, state = model(given[:, t : t + 1], state)
        torch.testing.assert_close(one[:, 0], together[:, t])


@BOTH
def test_gradients_are_right(recurrence):
    model = language(recurrence).double()

    def logits(features):
        outputs, state = model(
            torch.tensor([[0, 2], [0, 3]]), model.look(PaddedBags.of([*features]))
        )
        return model.logits(outputs, state)

    features = (torch.rand(2, 1, 6, dtype=torch.double) + 0.1).requires_grad_()
    assert torch.autograd.gradcheck(logits, features)


def test_output_biases_start_at_the_log_frequencies_of_words():
    rnn = language()
    rnn.begin(torch.tensor([4, 0, 3, 1, 0, 0, 0, 0]))
    bias = rnn.out.bias[:4].tolist()
    assert bias == pytest.approx(
        [math.log(4 / 8), math.log(1 / 8), math.log(3 / 8), math.log(1 / 8)]
    )


def test_a_whole_photo_is_its_frame_in_the_last_view():
    torch.manual_seed(0)
    model = Model(CONFIG).eval()
    photo = torch.randint(0, 256, (3, 70, 90), dtype=torch.uint8)
    with torch.inference_mode():
        (inputs,), (boxes,) = model.sight([photo])
    rows = model.sight.regions(inputs)
    assert len(rows) == len(boxes)
    ((whole,),) = model.describe([inputs], Generation())
    ((frame,),) = model.describe([rows[:1]], Generation())
    assert (whole.text, whole.log_probability) == (frame.text, frame.log_probability)


def test_regions_are_described_alike_alone_and_in_company():
    torch.manual_seed(0)
    model = Model(CONFIG).eval()
    rows = list(torch.rand(5, 1, 1280))
    together = model.describe(rows, Generation(beam=3, count=2))
    alone = [model.describe([row], Generation(beam=3, count=2))[0] for row in rows]
    assert [[c.text for c in found] for found in together] == [
        [c.text for c in found] for found in alone
    ]


def test_what_is_inside_a_box_is_what_a_region_of_that_box_is():
    torch.manual_seed(0)
    sight = Model(CONFIG).sight
    photos = [torch.randint(0, 256, (3, 70, 90), dtype=torch.uint8) for _ in range(2)]
    with torch.inference_mode():
        inputs, boxes = sight(photos)
        inside = sight.inside(photos, boxes)
    for own, rows in zip(inputs, inside, strict=True):
        torch.testing.assert_close(sight.regions(own)[1:], rows[1:])


def test_an_unknown_recurrence_is_refused():
    with pytest.raises(ValueError, match="no recurrence 'gru'; there are: rnn, lstm"):
        Config(WORDS, recurrence="gru")


def test_a_checkpoint_describes_as_its_model_did_and_brings_no_backbone(tmp_path):
    torch.manual_seed(0)
    model = Model(CONFIG).eval()
    model.language.out.bias.data[UNKNOWN] = -9.0
    path = tmp_path / "regions.safetensors"
    checkpoint.save(path, "captioners", "multimodal_rnn", model, {})
    assert path.stat().st_size < 100_000
    rows = [torch.rand(1, 1280)]
    loaded = checkpoint.load(path).model
    ((before,),), ((after,),) = (m.describe(rows, Generation()) for m in (model, loaded))
    assert before.text == after.text
    assert before.log_probability == pytest.approx(after.log_probability, abs=0.02)
    assert len(loaded.config.words) + FIRST_WORD == len(loaded.language.out.bias)
