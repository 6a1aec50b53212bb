"""The race: lanes take turns by their own clocks and end as they would alone."""

import pytest
import torch

from lopa_core.runtime.local import LocalEngine
from lopa_core.runtime.race import LocalRace
from lopa_core.trace.recorder import Recorder

from ..helpers.models import conformance_network
from ..helpers.traces import PROMPT, SMALL

LANES = {"confidence": SMALL.decoder("confidence"), "lopa": SMALL}


@pytest.fixture
def race() -> LocalRace:
    network = conformance_network("dream-a", dtype=torch.float32)
    return LocalRace(lambda: LocalEngine(network), network.config, PROMPT, LANES)


def test_each_lane_decodes_what_it_would_alone(race):
    for _ in race.run():
        pass
    for name, recorder in race.tapes.items():
        alone = Recorder(PROMPT, LocalEngine(race.tapes[name].engine.network), LANES[name])
        while alone.step():
            pass
        assert recorder.tokens == alone.tokens
        assert len(recorder.rounds) == len(alone.rounds)


def test_the_lane_that_is_behind_goes_next(race):
    """At the start of every round its lane's clock was the lowest of all running lanes."""
    clocks = dict.fromkeys(LANES, 0.0)
    for name, happened in race.run():
        if happened is None:
            continue
        others = [clocks[other] for other in LANES if other != name and not race.tapes[other].done]
        assert all(clocks[name] <= other for other in others)
        clocks[name] = race.tapes[name].seconds
        assert happened is race.tapes[name].rounds[-1]


def test_warm_up_is_told_and_leaves_no_trace(race):
    warm = [name for name, happened in race.run() if happened is None]
    assert warm == ["confidence"] * 3 + ["lopa"] * 3
    alone = Recorder(PROMPT, LocalEngine(race.tapes["lopa"].engine.network), SMALL)
    while alone.step():
        pass
    assert len(race.tapes["lopa"].rounds) == len(alone.rounds)


def test_leaving_the_loop_stops_every_lane(race):
    told = 0
    for _, happened in race.run():
        told += happened is not None
        if told == 5:
            break
    assert sum(len(recorder.rounds) for recorder in race.tapes.values()) == 5
