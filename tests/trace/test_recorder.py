"""The recorder: rounds as plain data, with the truth about time and about what was committed."""

import time

import pytest

from lopa_core.decode.settings import DecodeSettings
from lopa_core.trace.recorder import Recorder

from ..helpers.decoding import FakeEngine, scattered
from ..helpers.traces import PROMPT, SMALL, recorded


def test_committed_tokens_are_the_canvas():
    trace = recorded()
    canvas = {slot: token for each in trace.rounds for slot, token, _ in each.committed}
    assert [canvas[slot] for slot in range(32)] == list(trace.tokens)


def test_a_winning_lookahead_brings_its_token_in():
    trace = recorded()
    brought = [each for each in trace.rounds if each.brought]
    assert brought, "this case has winning lookaheads"
    for each in brought:
        assert each.committed[0] == (each.brought.slot, each.brought.token, each.brought.probability)
        assert each.brought.slot not in each.slots


def test_an_unfinished_decode_keeps_what_it_has():
    trace = recorded(steps=3)
    assert trace.reason == "stopped"
    assert len(trace.rounds) == 3
    assert trace.mask_id in trace.tokens and len(trace.tokens) == 32


def test_the_clock_counts_only_its_own_steps():
    recorder = Recorder([1, 2], FakeEngine(scattered(1)), DecodeSettings(max_new_tokens=16, block_size=8))
    recorder.step()
    before = recorder.seconds
    time.sleep(0.05)
    assert recorder.seconds == before
    recorder.step()
    assert before < recorder.seconds < before + 0.05


def test_eos_of_the_settings_is_the_trace_s():
    settings = DecodeSettings(max_new_tokens=32, block_size=16, eos_token_id=473)
    assert recorded(settings).eos_id == 473
    assert recorded(SMALL).eos_id == 510


@pytest.mark.parametrize("decoder", ["vanilla", "confidence"])
def test_decoders_without_lookahead_have_one_row_per_round(decoder):
    trace = recorded(SMALL.decoder(decoder), decoder=decoder)
    assert all(len(each.branches) == 1 and each.brought is None for each in trace.rounds)
    assert PROMPT and trace.prompt_tokens == len(PROMPT)
