from dataclasses import replace

import pytest
import torch

from models.captioners.multimodal_rnn import Config, Model
from models.captions.captioning import FIRST_WORD, UNKNOWN
from models.captions.decoding import END
from models.registry import Generation
from models.types import PaddedBags

WORDS = ("a", "dog", "runs", "in", "the", "grass", "t-shirt")
SIZES = {"views": ("lite0@64",), "proposals": "windows", "embedding": 16, "hidden": 16}
CONFIG = Config(WORDS, **SIZES, longest=6, shortest=2)


@pytest.fixture(scope="module")
def captioner():
    torch.manual_seed(0)
    return Model(CONFIG).eval()


def described(model, photos, **options):
    with torch.inference_mode():
        inputs, _ = model.sight(photos)
    return model.describe(inputs, Generation(**options))


@pytest.fixture(scope="module")
def photos():
    generator = torch.Generator().manual_seed(0)
    shapes = [(3, 50, 80), (3, 64, 64), (3, 90, 40)]
    return [torch.randint(0, 256, s, dtype=torch.uint8, generator=generator) for s in shapes]


def test_captions_are_distinct_readable_and_best_first(captioner, photos):
    for captions in described(captioner, photos, beam=5, count=3):
        chances = [caption.log_probability for caption in captions]
        assert len({caption.text for caption in captions}) == 3
        assert chances == sorted(chances, reverse=True)
        for caption in captions:
            assert caption.text[0].isupper() or caption.text[0].isdigit()
            assert set(caption.text.lower().split()) <= set(WORDS)


def test_an_unknown_word_is_never_said_however_likely(photos):
    model = Model(CONFIG).eval()
    model.language.out.bias.data[UNKNOWN] = 50.0
    ((caption,),) = described(model, photos[:1], beam=3, count=1)
    assert set(caption.text.lower().split()) <= set(WORDS)


def test_a_caption_has_its_fewest_words_even_where_the_end_is_likeliest(photos):
    model = Model(CONFIG).eval()
    model.language.out.bias.data[0] = 50.0
    found = described(model, photos, beam=3, count=1)
    assert [len(caption.text.split()) for (caption,) in found] == [2, 2, 2]


def test_a_photo_is_described_alike_alone_and_in_company(captioner, photos):
    together = described(captioner, photos, beam=3, count=2)
    alone = [described(captioner, [photo], beam=3, count=2)[0] for photo in photos]
    assert [[c.text for c in found] for found in together] == [
        [c.text for c in found] for found in alone
    ]


def test_words_that_are_ruled_out_are_not_said_and_unfinished_ones_end_nothing(photos):
    model = Model(replace(CONFIG, unfinished=("a", "the"))).eval()
    for word, bias in (("dog", 50.0), ("a", 30.0), ("the", 20.0)):
        model.language.out.bias.data[WORDS.index(word) + FIRST_WORD] = bias
    model.language.out.bias.data[END] = 10.0
    found = described(model, photos, beam=3, count=1, never=frozenset({"dog", "unheard-of"}))
    for (caption,) in found:
        words = caption.text.lower().split()
        assert "dog" not in words
        assert len(words) == CONFIG.longest or words[-1] not in ("a", "the")


def test_no_photos_have_no_captions(captioner):
    assert captioner.describe([], Generation()) == []


@pytest.mark.parametrize(("beam", "count"), [(0, 1), (3, 0), (2, 3), (21, 1)])
def test_beam_and_count_out_of_range_are_refused(captioner, photos, beam, count):
    with pytest.raises(ValueError, match="count"):
        described(captioner, photos, beam=beam, count=count)


def test_the_probability_of_a_caption_is_that_of_its_words_one_by_one(captioner, photos):
    ((caption,),) = described(captioner, photos[:1], beam=4, count=1)
    numbers = [WORDS.index(word) + FIRST_WORD for word in caption.text.lower().split()]
    given, targets = torch.tensor([[0, *numbers]]), torch.tensor([[*numbers, 0]])
    language = captioner.language
    with torch.inference_mode():
        state = language.look(PaddedBags.of(captioner.sight(photos[:1])[0]))
        chances = language.logits(*language(given, state)).log_softmax(dim=2)  # (1, T, V)
    each = chances.gather(2, targets[:, :, None]).flatten()
    said = each if len(numbers) < CONFIG.longest else each[:-1]
    assert caption.log_probability == pytest.approx(said.sum().item(), abs=1e-4)
    words = [word.log_probability for word in caption.words]
    assert words == pytest.approx(each[: len(words)].tolist(), abs=1e-4)


def test_later_words_do_not_change_what_is_said_before_them(captioner):
    language = captioner.language
    state = language.look(PaddedBags.of([torch.rand(1, 1280)]))
    one, _ = language(torch.tensor([[0, 2, 3]]), state)
    other, _ = language(torch.tensor([[0, 2, 5]]), state)
    torch.testing.assert_close(one[:, :2], other[:, :2])


def test_training_leaves_the_backbone_as_it_came(captioner):
    model = Model(CONFIG).train()
    assert model.language.training
    assert not any(part.training for part in model.sight.backbones.modules())
    assert not any(weight.requires_grad for weight in model.sight.backbones.parameters())
