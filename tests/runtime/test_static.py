"""Steps of fixed shape, as CUDA graphs replay them, say what the plain forward says. (Here they run without a graph.)"""

from __future__ import annotations

import logging

import pytest
import torch

from lopa_core.decode.settings import DecodeSettings
from lopa_core.runtime import graphs as module
from lopa_core.runtime.local import LocalEngine
from lopa_core.runtime.static import looked_at, padded, room
from lopa_core.trace.recorder import Recorder

from ..helpers.models import conformance_network
from ..helpers.traces import PROMPT

SHORT = {"max_new_tokens": 48, "block_size": 16, "stop_at_eos": False}
CASES = {
    "as it is": {},
    "pipelined": {"tau_add": 0.1},
    "block-causal": {"attention": "block_causal", "tau_add": 0.1},
    "reach of masks": {"attention": "block_causal", "tau_add": 0.1, "reach": "masks"},
    "sampled": {"temperature": 0.8, "seed": 3, "tau_add": 0.3},
    "no lookahead": {"lookahead": 0},
    "another confidence": {"confidence": "margin"},
    "the mask token too": {"allow_mask_token": True, "refresh_boundary": False},
    "odd widths": {"max_new_tokens": 45, "block_size": 9, "tau_add": 0.3},
}


def network(name="dream-a"):
    return conformance_network(name, dtype=torch.float32)


def recorded(engine, **changes):
    recorder = Recorder(PROMPT, engine, DecodeSettings(**SHORT | changes))
    recorder.run()
    return recorder


@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
@pytest.mark.parametrize("name", ["dream-a", "llada-a"])
def test_a_step_of_fixed_shape_decodes_the_same(name, changes):
    plain, static = (recorded(LocalEngine(network(name), static=static), **changes) for static in (False, True))
    assert static.tokens == plain.tokens and static.reason == plain.reason
    assert [(each.winner, each.filled) for each in static.rounds] == [(each.winner, each.filled) for each in plain.rounds]
    scores = [[branch.score for each in one.rounds for branch in each.branches] for one in (static, plain)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)


def test_few_shapes_serve_many_windows(monkeypatch):
    """Those of a few sizes, whatever is asked of one workspace: prompts of many lengths, the longest first."""
    windows, forward, spare = set(), LocalEngine.forward, []

    def watched(engine, window):
        windows.add((*window.tokens.shape, window.columns.shape[1], window.start))
        return forward(engine, window)

    monkeypatch.setattr(LocalEngine, "forward", watched)
    for length in range(40, 0, -5):
        engine = LocalEngine(network(), static=True, spare=spare)
        Recorder((PROMPT * 6)[:length], engine, DecodeSettings(**SHORT, tau_add=0.1)).run()
        steps = engine.space.graphs.steps
        engine.close()
    sizes = {(rows, size_of(width), size_of(asked)) for rows, width, asked, _ in windows}
    assert len(steps) == len(sizes) < len(windows) / 5


def size_of(width):
    return next(size for size in (8, 16, 32, 48, 64, 96, 128) if size >= width)


def test_the_graph_that_was_not_used_for_longest_goes(monkeypatch):
    monkeypatch.setattr(module, "MOST", 2)
    engine = LocalEngine(network(), static=True)
    assert recorded(engine, tau_add=0.1).tokens == recorded(LocalEngine(network()), tau_add=0.1).tokens
    assert len(engine.space.graphs.steps) == 2


def test_what_was_in_the_caches_memory_before_does_not_show():
    """Hidden slots are read all the same, and a NaN among them would spread."""
    engine = LocalEngine(network(), static=True)
    engine.open(5, len(PROMPT) + 48, DecodeSettings(**SHORT))
    assert not engine.space.cache.keys.any() and not engine.space.cache.values.any()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there it can be")
def test_a_step_that_cannot_be_captured_is_run_and_logged_once(caplog, monkeypatch):
    """Where there is no CUDA, capturing fails for certain."""
    engine = LocalEngine(network(), static=True)
    engine.open(5, len(PROMPT) + 48, DecodeSettings(**SHORT))
    engine.space.graphs.pool = (0, 1)
    with caplog.at_level(logging.ERROR):
        decoded = recorded(engine)
    assert decoded.tokens == recorded(LocalEngine(network())).tokens
    assert len(caplog.records) == len(engine.space.graphs.steps) and "runs without one" in caplog.text


def test_room_is_enough_for_every_padded_window():
    for length in range(1, 700):
        assert all(looked_at(start + padded(length - start)) <= room(length) for start in range(length))
        assert padded(length) >= length and looked_at(length) >= length


def test_a_workspace_goes_from_engine_to_engine():
    spare = []
    first, second = (LocalEngine(network(), spare=spare) for _ in range(2))
    settings = DecodeSettings(**SHORT)
    first.open(2, 20, settings), second.open(2, 20, settings)
    assert first.space is not second.space
    kept = first.space
    first.close(), first.close()
    third = LocalEngine(network(), spare=spare)
    third.open(1, 10, settings)
    assert third.space is kept and kept.room == (2, 20) and not spare
    third.open(3, 15, settings)
    assert kept.room == (3, 20) and len(kept.cache.keys[0]) == 3
