"""What holds for every model and every setting, on engines whose predictions are made up."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from lopa_core.decode.canvas import Canvas
from lopa_core.decode.settings import ATTENTIONS, CONFIDENCES, DecodeSettings
from lopa_core.model.errors import ModelError
from lopa_core.runtime.local import LocalEngine

from ..helpers.decoding import EOS, MASK, VOCABULARY, FakeEngine, FixedLogits, run, scattered
from ..helpers.models import conformance_network, llada_config

many = hypothesis_settings(max_examples=200, deadline=None, derandomize=True)
shares = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.95, 1.0])


@st.composite
def chosen_settings(draw, **fixed):
    size = draw(st.integers(1, 9))
    free = dict(
        block_size=size, max_new_tokens=size * draw(st.integers(1, 4)), lookahead=draw(st.integers(0, 5)),
        tau_add=draw(shares), tau_act=draw(shares), tau_conf=draw(shares), confidence_floor=draw(shares),
        score_tail_fraction=draw(shares), score_creation_weight=draw(shares),
        selection=draw(st.sampled_from(["threshold", "one"])), attention=draw(st.sampled_from(ATTENTIONS)),
        temperature=draw(st.sampled_from([0.0, 1.0])), stop_at_eos=draw(st.booleans()),
        refresh_boundary=draw(st.booleans()), duplicate_anchor=draw(st.booleans()),
    )  # fmt: skip
    return DecodeSettings(**free | fixed)


any_run = given(
    chosen=chosen_settings(), seed=st.integers(0, 10**6), shifted=st.booleans(),
    eos_every=st.sampled_from([0, 4, 20]), prompt=st.lists(st.integers(0, EOS), min_size=1, max_size=6),
)  # fmt: skip


def decode_fake(chosen, seed, shifted, eos_every, prompt):
    engine = FakeEngine(scattered(seed, eos_every=eos_every), shifted=shifted)
    return engine, *run(prompt, engine, chosen)


@any_run
@many
def test_every_slot_is_written_once_and_nothing_else_changes(**case):
    """The engine checks on the way that the cached prefix stays and that every mask, and nothing else, is asked about."""
    _, rounds, outcome = decode_fake(**case)
    answer = {}
    for round_ in rounds:
        written = {int(round_.slots[index]): int(round_.seen.tokens[index]) for index in round_.filled}
        if round_.brought:
            written[round_.brought.slot] = round_.brought.token
        assert len(written) == round_.written
        assert not written.keys() & answer.keys()
        answer |= written
    start = len(case["prompt"])
    assert answer == {start + slot: token for slot, token in enumerate(outcome.tokens) if token != MASK}


@any_run
@many
def test_counts_add_up(**case):
    engine, rounds, outcome = decode_fake(**case)
    assert [round_.index for round_ in rounds] == list(range(len(rounds)))
    assert [len(round_.branches) for round_ in rounds] == [len(tokens) for tokens in engine.forwards]
    assert all(round_.branches[round_.winner].masks_left == len(round_.slots) == len(round_.seen.tokens) for round_ in rounds)
    assert sum(round_.written for round_ in rounds) == sum(token != MASK for token in outcome.tokens)
    assert rounds[0].committed == 0 and all(old.committed <= new.committed for old, new in zip(rounds, rounds[1:]))


@any_run
@many
def test_decoding_ends_and_says_why(**case):
    chosen = case["chosen"]
    _, rounds, outcome = decode_fake(**case)
    assert all(round_.written for round_ in rounds)  # every round moves, so the limit is never what stops it
    assert len(rounds) <= chosen.slots
    if outcome.reason == "eos":
        assert chosen.stop_at_eos and MASK not in outcome.tokens[: outcome.tokens.index(EOS)]
    else:
        assert outcome.reason == "complete" and MASK not in outcome.tokens
        assert len(outcome.tokens) == chosen.slots or EOS in outcome.tokens


@any_run
@many
def test_winner_is_the_highest_score_and_ties_go_to_the_earlier_branch(**case):
    _, rounds, _ = decode_fake(**case)
    for round_ in rounds:
        scores = [branch.score for branch in round_.branches]
        assert round_.winner == scores.index(max(scores))


@any_run
@many
def test_what_is_cached_is_the_winners(**case):
    """Under full attention each branch has keys and values of its own for the same tokens."""
    engine, rounds, _ = decode_fake(**case)
    grown = [new.index - 1 for old, new in zip(rounds, rounds[1:]) if new.committed > old.committed]
    kept = dict(engine.kept)
    assert kept.items() >= {index: rounds[index].winner for index in grown}.items()
    assert all(rounds[index].winner == row for index, row in kept.items())


@any_run
@many
def test_lookaheads_differ_from_the_anchor_by_one_confident_token(**case):
    chosen = case["chosen"]
    engine, rounds, _ = decode_fake(**case)
    for before, round_, tokens in zip([None, *rounds], rounds, engine.forwards):
        *lookaheads, anchor = round_.branches
        assert len(round_.branches) <= chosen.lookahead + 1 and anchor.tried is None
        for row, branch in enumerate(lookaheads):
            different = np.flatnonzero(tokens[row] != tokens[-1]) + round_.start
            if branch.tried is None:
                assert chosen.duplicate_anchor and not len(different)
                continue
            assert different.tolist() == [branch.tried.slot]
            assert tokens[row][different[0] - round_.start] == branch.tried.token
            assert branch.tried.probability >= chosen.confidence_floor
            asked = before.slots.tolist().index(branch.tried.slot)
            assert asked not in before.filled and before.seen.tokens[asked] == branch.tried.token


@given(chosen=chosen_settings(confidence_floor=1.0, duplicate_anchor=False), seed=st.integers(0, 10**6))
@many
def test_lopa_that_may_look_at_nothing_is_the_baseline(chosen, seed):
    baseline = run([1, 2], FakeEngine(scattered(seed, eos_every=20)), chosen.decoder("confidence"))
    lopa = run([1, 2], FakeEngine(scattered(seed, eos_every=20)), replace(chosen, lookahead=5))
    assert lopa[1] == baseline[1] and len(lopa[0]) == len(baseline[0])


@given(chosen=chosen_settings(), seed=st.integers(0, 10**6))
@many
def test_vanilla_writes_one_token_per_round_block_by_block(chosen, seed):
    rounds, outcome = run([1, 2], FakeEngine(scattered(seed)), chosen.decoder("vanilla"))
    written = [int(round_.slots[index]) for round_ in rounds for index in round_.filled]
    assert len(written) == len(rounds) == len(outcome.tokens)
    blocks = [(slot - 2) // chosen.block_size for slot in written]
    assert blocks == sorted(blocks)


@given(chosen=chosen_settings(), limit=st.integers(1, 12), seed=st.integers(0, 10**6))
@many
def test_round_limit_is_kept_and_cuts_the_same_decode(chosen, limit, seed):
    rounds, outcome = run([3], FakeEngine(scattered(seed)), chosen)
    cut, cut_outcome = run([3], FakeEngine(scattered(seed)), replace(chosen, max_rounds=limit))
    assert len(cut) == min(limit, len(rounds))
    assert [round_.winner for round_ in cut] == [round_.winner for round_ in rounds[:limit]]
    assert (cut_outcome.reason == "round limit") == (len(rounds) >= limit)


@given(slots=st.lists(st.booleans(), min_size=12, max_size=12), tau_add=shares, tau_act=shares, opened=st.integers(0, 3))
@many
def test_schedule_opens_at_most_one_block_and_undoes_no_promotion(slots, tau_add, tau_act, opened):
    canvas = Canvas.start(np.array([1]), DecodeSettings(max_new_tokens=12, block_size=4), MASK)
    canvas.tokens[1 : 1 + 4 * opened][slots[: 4 * opened]] = 7
    canvas.opened, canvas.fully_active[:] = opened, [False, True, False]
    last = np.mean(slots[4 * (opened - 1) : 4 * opened]) if opened else 1.0
    canvas.advance(tau_add, tau_act)
    assert canvas.opened == opened + (opened < 3 and last >= tau_add)
    expected = [True, True, opened > 1 and np.mean(slots[4:8]) >= tau_act]
    assert canvas.fully_active.tolist() == expected


@pytest.mark.parametrize("raw", [None, llada_config()], ids=["dream", "llada"])
@pytest.mark.parametrize("lookahead", [0, 3])
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_model_that_always_says_mask(raw, lookahead, confidence):
    """With the official choices it writes masks until the round limit; ours takes the next best token."""
    logits = torch.zeros(1, VOCABULARY)
    logits[0, MASK], logits[0, 5] = 30.0, 10.0
    chosen = DecodeSettings(max_new_tokens=12, block_size=4, lookahead=lookahead, confidence=confidence)
    _, outcome = run([1], LocalEngine(FixedLogits(logits, raw=raw)), chosen)
    assert (outcome.tokens, outcome.reason) == ((5,) * 12, "complete")
    rounds, outcome = run([1], LocalEngine(FixedLogits(logits, raw=raw)), chosen.reference())
    assert outcome.reason == "round limit" and len(rounds) == chosen.round_limit and set(outcome.tokens) == {MASK}


@pytest.mark.parametrize("lookahead", [0, 3])
@pytest.mark.parametrize("stop", [True, False])
def test_model_that_always_ends(lookahead, stop):
    logits = torch.zeros(1, VOCABULARY)
    logits[0, EOS] = 30.0
    chosen = DecodeSettings(max_new_tokens=12, block_size=4, lookahead=lookahead, stop_at_eos=stop)
    rounds, outcome = run([1], LocalEngine(FixedLogits(logits)), chosen)
    assert outcome.tokens == (EOS,) * 4 and len(rounds) == 1  # the whole block is certain; no other is opened


def test_model_without_an_opinion_writes_one_slot_of_the_active_block_per_round():
    chosen = DecodeSettings(max_new_tokens=8, block_size=4, lookahead=0)
    rounds, outcome = run([1], LocalEngine(FixedLogits(torch.zeros(1, VOCABULARY))), chosen)
    assert [len(round_.filled) for round_ in rounds] == [1] * 8 and outcome.tokens == (0,) * 8


def test_network_that_overflows_is_said_so():
    engine = LocalEngine(FixedLogits(torch.full((1, VOCABULARY), torch.nan)))
    with pytest.raises(ModelError, match="not a number"):
        run([1], engine, DecodeSettings(max_new_tokens=8, block_size=8))


def test_seeded_sampling_repeats_and_differs_by_seed():
    engine = LocalEngine(conformance_network("dream-a"))
    chosen = DecodeSettings(max_new_tokens=16, block_size=8, temperature=1.5, lookahead=2, stop_at_eos=False)
    first, again, other = (run([7, 8, 9], engine, replace(chosen, seed=seed))[1].tokens for seed in (1, 1, 2))
    assert first == again != other


def test_one_engine_serves_one_decode_after_another():
    """Its cache is kept and grows; what an earlier decode left there must not be seen."""
    used, short = LocalEngine(conformance_network("dream-a")), DecodeSettings(max_new_tokens=16, block_size=8, lookahead=1)
    long = replace(short, max_new_tokens=40, lookahead=3)
    for chosen in (long, short, replace(long, attention="block_causal"), short):
        assert run([4, 5], used, chosen)[1] == run([4, 5], LocalEngine(conformance_network("dream-a")), chosen)[1]
