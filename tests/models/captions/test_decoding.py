import math

import pytest
import torch

from models.captions.decoding import END, CaptionLimits, Hypothesis, beam, sample

A, B, C, D = 1, 2, 3, 4


def follow(table):
    """A step over paths by hand: words so far, next chances.

    Paths that the table lacks end.
    """

    def step(words, state):
        (said,) = state
        said = torch.cat([said[:, 1:], words[:, None]], dim=1)
        rows = []
        for line in said.tolist():
            chances, said_words = torch.zeros(5), tuple(word for word in line if word != END)
            for word, chance in table.get(said_words, {END: 1.0}).items():
                chances[word] = chance
            rows.append(chances.log())
        return torch.stack(rows), (said,)

    return step, (torch.zeros(1, 6, dtype=torch.long),)


# The likelier first word leads to the less likely sentence: A C .6×.4, B D .4×.9
GARDEN = {
    (): {A: 0.6, B: 0.4},
    (A,): {C: 0.4, D: 0.3, END: 0.3},
    (B,): {D: 0.9, END: 0.1},
}


def walk(seed, sentences=3, vocabulary=7):
    """A random Markov step with a state of its own for each sentence."""
    chances = torch.randn(vocabulary, vocabulary, generator=torch.Generator().manual_seed(seed))
    bias = torch.randn(sentences, vocabulary, generator=torch.Generator().manual_seed(seed + 1))

    def step(words, state):
        (own,) = state
        return (chances[words] + own).log_softmax(dim=1), (own * 1.1,)

    return step, (bias,)


def greedy(step, state, limits):
    """The reference of a beam of one: each likeliest word."""
    hypotheses = []
    for row in range(len(state[0])):
        one_state, words, total, last = tuple(part[row : row + 1] for part in state), [], 0.0, END
        for _ in range(limits.longest):
            scores, one_state = step(torch.tensor([last]), one_state)
            last = int(limits.ban(scores, torch.tensor([words], dtype=torch.long)).argmax())
            total += scores[0, last].item()
            if last == END:
                break
            words.append(last)
        hypotheses.append(Hypothesis(tuple(words), total))
    return hypotheses


def test_a_beam_of_one_takes_the_likelier_first_word():
    ((best,),) = beam(*follow(GARDEN), CaptionLimits(5), width=1)
    assert best.words == (A, C)
    assert best.log_probability == pytest.approx(math.log(0.24))


def test_beam_finds_the_better_of_two_paths():
    (found,) = beam(*follow(GARDEN), CaptionLimits(5), width=2)
    assert found[0].words == (B, D)
    assert found[0].log_probability == pytest.approx(math.log(0.36))


@pytest.mark.parametrize("seed", range(8))
def test_a_beam_of_one_is_greedy(seed):
    step, state = walk(seed)
    narrow = [only for (only,) in beam(step, state, CaptionLimits(9), width=1)]
    for one, other in zip(narrow, greedy(step, state, CaptionLimits(9)), strict=True):
        assert one.words == other.words
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-5)


def test_a_beam_as_wide_as_all_sentences_finds_the_likeliest():
    step, state = walk(3, sentences=1, vocabulary=3)
    (found,) = beam(step, state, CaptionLimits(4), width=40)

    def chance(words):
        total, now, last = 0.0, state, END
        for word in [*words, END]:
            scores, now = step(torch.tensor([last]), now)
            total, last = total + scores[0, word].item(), word
        return total

    every = [()]
    for _ in range(3):
        every += [(*words, word) for words in every for word in (1, 2)]
    assert found[0].words == max(set(every), key=chance)
    assert found[0].log_probability == pytest.approx(chance(found[0].words), abs=1e-5)


def test_a_finished_hypothesis_is_kept_while_others_go_on():
    chances = {(): {A: 0.6, END: 0.4}, (A,): {A: 0.5, B: 0.5}}
    (found,) = beam(*follow(chances), CaptionLimits(3), width=2)
    assert found[0] == Hypothesis((), pytest.approx(math.log(0.4)))
    assert [len(hypothesis.words) for hypothesis in found] == [0, 2]


def test_hypotheses_cut_off_at_the_longest_length_come_last():
    (found,) = beam(*follow({(): {A: 0.9, B: 0.1}, (A,): {A: 1.0}}), CaptionLimits(2), width=2)
    assert [hypothesis.words for hypothesis in found] == [(B,), (A, A)]


def test_length_power_prefers_the_longer_sentence():
    chances = {(): {A: 0.5, B: 0.5}, (B,): {C: 0.9, D: 0.1}}
    step, state = follow(chances)
    (plain,), (mean,) = (
        beam(step, state, CaptionLimits(5), width=2, length_power=p) for p in (0.0, 1.0)
    )
    assert (plain[0].words, mean[0].words) == ((A,), (B, C))


def test_forbidden_words_are_never_emitted():
    step, state = walk(0)
    found = [h for hs in beam(step, state, CaptionLimits(9, never=(2, 5)), width=4) for h in hs]
    found += sample(step, state, CaptionLimits(9, never=(2, 5)))
    assert found
    assert not {word for hypothesis in found for word in hypothesis.words} & {2, 5}


def test_no_sentence_ends_with_an_unfinished_word():
    step, state = walk(0)
    limits = CaptionLimits(9, unfinished=(2, 5))
    found = [one for own in beam(step, state, limits, width=4) for one in own]
    found += sample(step, state, limits)
    ended = [one.words for one in found if 0 < len(one.words) < 9]
    assert ended
    assert not {words[-1] for words in ended} & {2, 5}
    free = {
        one.words[-1]
        for own in beam(step, state, CaptionLimits(9), width=4)
        for one in own
        if one.words
    }
    assert free & {2, 5}


def test_the_company_in_a_batch_changes_nothing():
    step, state = walk(5)
    together = beam(step, state, CaptionLimits(9), width=3)
    for k, found in enumerate(together):
        (alone,) = beam(step, (state[0][k : k + 1],), CaptionLimits(9), width=3)
        assert [h.words for h in alone] == [h.words for h in found]


def test_a_beam_wider_than_its_choices_returns_what_there_is():
    (found,) = beam(*follow({(): {A: 1.0}}), CaptionLimits(5), width=3)
    assert [h.words for h in found] == [(A,)]


def test_samples_follow_the_chances_and_a_low_temperature_takes_the_likeliest():
    step, state = follow(GARDEN)
    many = (state[0].repeat(500, 1),)
    drawn = sample(step, many, CaptionLimits(5), generator=torch.Generator().manual_seed(0))
    share = sum(h.words[0] == A for h in drawn) / 500
    assert share == pytest.approx(0.6, abs=0.08)
    cold = sample(step, many, CaptionLimits(5), temperature=0.01)
    assert {h.words for h in cold} == {(A, C)}


def test_no_sentence_ends_before_its_shortest_length():
    step, state = follow({(): {A: 0.1, END: 0.9}})
    ((likeliest,),) = beam(step, state, CaptionLimits(5), width=1)
    assert likeliest.words == ()
    limits = CaptionLimits(5, shortest=1)
    assert [h.words for h in beam(step, state, limits, width=2)[0]] == [(A,)]
    assert sample(step, state, limits)[0].words == (A,)


def test_what_cannot_be_searched_is_refused():
    step, state = follow(GARDEN)
    with pytest.raises(ValueError, match="at least 1 wide"):
        beam(step, state, CaptionLimits(5), width=0)
    with pytest.raises(ValueError, match="temperature"):
        sample(step, state, CaptionLimits(5), temperature=0.0)


def test_no_run_of_words_comes_twice():
    limits = CaptionLimits(6, unique=2)
    scores = torch.zeros(1, 4)
    allowed = limits.ban(scores, torch.tensor([[A, B, A]]))
    assert allowed[0, B] == float("-inf")
    assert allowed[0, A] == 0
    assert limits.ban(scores, torch.tensor([[A, B]])).isfinite().all()


def test_sampling_from_the_nucleus_never_draws_the_tail():
    step, state = follow({(): {A: 0.7, B: 0.2, END: 0.1}})
    many = tuple(part.repeat_interleave(300, dim=0) for part in state)
    drawn = sample(
        step, many, CaptionLimits(1), top_p=0.8, generator=torch.Generator().manual_seed(0)
    )
    assert {one.words for one in drawn} == {(A,), (B,)}
    narrow = sample(
        step, many, CaptionLimits(1), top_p=0.5, generator=torch.Generator().manual_seed(0)
    )
    assert {one.words for one in narrow} == {(A,)}


def test_of_a_group_a_sentence_has_one_word_and_no_word_twice_in_a_row():
    """A and B are forms of a word; C and D are function words."""
    limits = CaptionLimits(5, groups=torch.tensor([0, 1, 1, 0, 0]))
    banned = limits.ban(torch.zeros(3, 5), torch.tensor([[C, A], [A, C], [C, D]])).isinf()
    assert banned.tolist() == [
        [False, True, True, False, False],
        [False, True, True, True, False],
        [False, False, False, False, True],
    ]
