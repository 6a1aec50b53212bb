"""A race told in messages arrives whole in another process: as JSON, as a pickle, and however it ends."""

import json
import pickle

import pytest
import torch

from lopa_core.decode.settings import SettingsError
from lopa_core.model.errors import ModelError
from lopa_core.runtime.local import LocalEngine
from lopa_core.runtime.messages import fault, line_up, told
from lopa_core.runtime.remote import RemoteRace

from ..helpers.models import conformance_network
from ..helpers.traces import PROMPT, SMALL

LANES = {"confidence": SMALL.decoder("confidence"), "lopa": SMALL}
CROSSINGS = {"json": lambda each: json.loads(json.dumps(each)), "pickle": lambda each: pickle.loads(pickle.dumps(each))}


class Wire:
    """Takes what a RemoteRace asks for across and brings the messages back."""

    names = ("elsewhere",)

    def __init__(self, cross):
        self.cross, self.races = cross, []

    def run(self, request):
        network = conformance_network("dream-a", dtype=torch.float32)
        self.races.append(line_up(self.cross(request), lambda: LocalEngine(network, static=False), network.config))
        for message in told(self.races[-1]):
            yield self.cross(message)


def race(wire, **how):
    return RemoteRace(wire, conformance_network("dream-a", dtype=torch.float32).config, PROMPT, LANES, **how)


@pytest.mark.parametrize("cross", CROSSINGS.values(), ids=CROSSINGS.keys())
@pytest.mark.parametrize("how", [{}, {"warm": False}, {"forced": {2: 0}}], ids=["plain", "cold", "what if"])
def test_the_tapes_are_those_of_the_race_that_ran(cross, how):
    wire = Wire(cross)
    asked = race(wire, **how)
    happened = list(asked.run())
    ran = wire.races[0]
    assert sum(each is None for _, each in happened) == (6 if how.get("warm", True) else 0)
    for name, tape in asked.tapes.items():
        assert tape.rounds == ran.tapes[name].rounds and tape.tokens == ran.tapes[name].tokens
        assert tape.done and tape.reason == ran.tapes[name].reason and tape.forced == how.get("forced", {})


def test_each_lane_is_told_once_to_be_through_behind_its_last_round():
    wire = Wire(CROSSINGS["json"])
    messages = list(wire.run(race(wire).request))
    for name in LANES:
        own = [message for message in messages if message["lane"] == name]
        assert ["outcome" in message for message in own].count(True) == 1 and "outcome" in own[-1]


def test_leaving_the_messages_ends_the_race():
    wire = Wire(CROSSINGS["pickle"])
    rounds = race(wire).run()
    for _ in range(8):
        next(rounds)
    rounds.close()
    assert sum(len(tape.rounds) for tape in wire.races[0].tapes.values()) == 2  # behind six of the warm-up
    assert all(tape.engine.space is None for tape in wire.races[0].tapes.values())  # its engines gave their workspaces back


@pytest.mark.parametrize(
    ("error", "ended"),
    [
        (SettingsError("No."), "refused"), (ModelError("Not a number."), "refused"), (MemoryError(), "memory"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB\nand more"), "memory"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), "memory"),
    ],
)  # fmt: skip
def test_an_end_that_is_no_bug_is_a_message(error, ended):
    message = fault(error)
    assert message["ended"] == ended and message["error"] and "\n" not in message["error"]


@pytest.mark.parametrize("error", [RuntimeError("device-side assert"), KeyError("memory"), TypeError("out of memory")])
def test_any_other_error_goes_on(error):
    with pytest.raises(type(error)):
        fault(error)
