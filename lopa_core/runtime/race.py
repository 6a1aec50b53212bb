"""One prompt through several decoders, live: whoever's own clock is behind runs its next round.

The decoders take turns on one device, never at once, and each has an engine of its own, so every clock counts
that decoder's compute alone and the lanes advance as they would side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from ..decode.loop import check_prompt
from ..decode.settings import DecodeSettings
from ..model.family import ModelConfig
from ..trace.recorder import Measured, Recorder, Tape
from ..trace.trace import TraceRound

WARM_ROUNDS = 3  # the first forwards pay for kernels' set-up and page faults
Lanes = Mapping[str, DecodeSettings]


class Race(Protocol):
    """A comparison under way, wherever it runs. Stop by leaving the loop over `run`."""

    tapes: Mapping[str, Tape]  # what is known so far, by decoder name

    def run(self) -> Iterator[tuple[str, TraceRound | None]]:
        """(decoder, round) until every lane has ended; first a few warm-up rounds, told as None and counted nowhere."""


class LocalRace:
    """A race in this process. open_engine: gives each lane an engine of its own. warm: whether to run warm-up rounds.

    forced: {round: branch} that wins there in every lane, for a "what if".
    Raises SettingsError at once for a prompt that cannot be decoded.
    """

    def __init__(
        self, open_engine: Callable[[], Measured], config: ModelConfig, prompt: Sequence[int], lanes: Lanes,
        forced: Mapping[int, int] | None = None, warm: bool = True,
    ) -> None:  # fmt: skip
        check_lanes(prompt, config, lanes)
        self.prompt, self.warm = prompt, warm
        self.tapes = {name: Recorder(prompt, open_engine(), settings, forced) for name, settings in lanes.items()}

    def run(self) -> Iterator[tuple[str, TraceRound | None]]:
        try:
            yield from self.rounds()
        finally:
            for recorder in self.tapes.values():
                recorder.engine.close()

    def rounds(self) -> Iterator[tuple[str, TraceRound | None]]:
        for name, recorder in self.tapes.items() if self.warm else ():
            for _ in warm_rounds(Recorder(self.prompt, recorder.engine, recorder.settings)):
                yield name, None
        running = dict(self.tapes)
        while running:
            name = min(running, key=lambda lane: running[lane].pace)
            happened = running[name].step()
            if happened is None:
                del running[name]
            else:
                yield name, happened


def check_lanes(prompt: Sequence[int], config: ModelConfig, lanes: Lanes) -> None:
    """Raise SettingsError where one of the lanes cannot be decoded."""
    for settings in lanes.values():
        check_prompt(prompt, config, settings)


def warm_rounds(recorder: Recorder) -> Iterator[None]:
    """A few rounds for their side effects."""
    for _ in range(WARM_ROUNDS):
        if recorder.step() is None:
            break
        yield


def warm_up(recorder: Recorder) -> None:
    """Run `warm_rounds` at once."""
    for _ in warm_rounds(recorder):
        pass
