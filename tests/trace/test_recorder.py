"""The recorder: rounds as plain data, with the truth about time and about what was committed."""

from types import SimpleNamespace

import pytest
import torch

from lopa_core.decode.settings import DecodeSettings, SettingsError
from lopa_core.runtime.local import LocalEngine
from lopa_core.trace import recorder as module
from lopa_core.trace.recorder import Recorder

from ..helpers.decoding import FakeEngine, scattered
from ..helpers.models import conformance_network
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
        assert each.brought.slot not in each.best.seen.slots


def test_an_unfinished_decode_keeps_what_it_has():
    trace = recorded(steps=1)
    assert trace.reason == "stopped"
    assert len(trace.rounds) == 1
    assert trace.mask_id in trace.tokens and len(trace.tokens) == trace.rounds[-1].end == 16 < trace.slots == 32


def test_the_clock_counts_only_its_own_steps(monkeypatch):
    clock = SimpleNamespace(now=100.0)

    class Slow(FakeEngine):
        def forward(self, window):
            clock.now += 0.25
            return super().forward(window)

    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    recorder = Recorder([1, 2], Slow(scattered(1)), DecodeSettings(max_new_tokens=16, block_size=8))
    recorder.step()
    clock.now += 10
    recorder.step()
    assert [each.seconds for each in recorder.rounds] == [0.25, 0.5] and recorder.seconds == 0.5


class Misspelt(FakeEngine):
    """Measures all it should, and one of it under another name."""

    def __init__(self, wrong):
        super().__init__(scattered(1))
        self.measured = {"devices": ("a",), "clock": 1.0, "seconds_in_network": 1.0, "spans": ()}
        self.measured[f"{wrong}s"] = self.measured.pop(wrong)

    def __getattribute__(self, name):
        if name in MEASURED:
            try:
                return super().__getattribute__("measured")[name]
            except KeyError:
                raise AttributeError(name) from None
        return super().__getattribute__(name)


MEASURED = ("devices", "clock", "seconds_in_network", "spans")


@pytest.mark.parametrize("wrong", MEASURED)
def test_what_an_engine_tells_under_a_wrong_name_does_not_read_as_nothing(wrong):
    def record():
        recorder = Recorder([1, 2], Misspelt(wrong), DecodeSettings(max_new_tokens=16, block_size=8))
        recorder.run()
        return recorder.pace

    with pytest.raises(AttributeError, match=wrong):
        record()


def test_an_engine_that_measures_nothing_says_so():
    recorder = Recorder([1, 2], FakeEngine(scattered(1)), DecodeSettings(max_new_tokens=16, block_size=8))
    recorder.run()
    assert recorder.devices == () and recorder.pace == recorder.clock > 0
    assert not any(each.network_seconds or each.spans for each in recorder.rounds)


def test_eos_of_the_settings_is_the_trace_s():
    settings = DecodeSettings(max_new_tokens=32, block_size=16, eos_token_id=473)
    assert recorded(settings).end_ids == (473,)
    assert recorded(SMALL).end_ids == (510,)


@pytest.mark.parametrize("decoder", ["vanilla", "confidence"])
def test_decoders_without_lookahead_have_one_row_per_round(decoder):
    trace = recorded(SMALL.decoder(decoder), decoder=decoder)
    assert all(len(each.branches) == 1 and each.brought is None for each in trace.rounds)
    assert PROMPT and trace.prompt_tokens == len(PROMPT)


def test_every_branch_keeps_what_it_saw():
    trace = recorded()
    for each in trace.rounds:
        for branch in each.branches:
            assert len(branch.seen.slots) == branch.masks_left and branch.slot not in branch.seen.slots


def test_spans_lie_on_the_decodes_own_clock():
    trace = recorded()
    assert len(trace.devices) == 1
    before = 0.0
    for each in trace.rounds:
        (span,) = each.spans
        assert span.device == 0 and span.rows == tuple(range(len(each.branches)))
        assert before <= span.start < span.end <= each.seconds
        before = each.seconds


def test_a_forced_branch_wins_and_the_rounds_before_are_the_same():
    free = recorded()
    at = next(index for index, each in enumerate(free.rounds) if len(each.branches) > 1 and index > 1)
    loser = next(index for index in range(len(free.rounds[at].branches)) if index != free.rounds[at].winner)
    engine = LocalEngine(conformance_network("dream-a", dtype=torch.float32))
    recorder = Recorder(PROMPT, engine, SMALL, {at: loser})
    recorder.run()
    what_if = recorder.trace(model="dream-a", decoder="lopa", prompt="", tokenizer=None, hardware="test")
    assert what_if.forced == ((at, loser),) and what_if.reason == "complete"
    assert [each.committed for each in what_if.rounds[:at]] == [each.committed for each in free.rounds[:at]]
    assert what_if.rounds[at].branches == free.rounds[at].branches and what_if.rounds[at].winner == loser


def test_a_forced_branch_that_is_not_there_is_said():
    recorder = Recorder([1, 2], FakeEngine(scattered(1)), DecodeSettings(max_new_tokens=16, block_size=8), {0: 3})
    with pytest.raises(SettingsError, match="branch 3 cannot win"):
        recorder.step()
