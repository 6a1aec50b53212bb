"""One prompt through several decoders, live: whoever's own clock is behind runs its next round.

The decoders take turns on one device, never at once, and each has an engine of its own, so every clock counts
that decoder's compute alone and the lanes advance as they would side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..decode.loop import check_prompt
from ..decode.settings import DecodeSettings
from ..model.network import Transformer
from ..trace.recorder import Recorder
from ..trace.trace import Trace, TraceRound
from .local import LocalEngine
from .session import Model

WARM_ROUNDS = 3  # the first forwards pay for kernels' set-up and page faults


class Race:
    """The lanes of one comparison, by decoder name. Iterate `run`; stop by leaving the loop.

    forced: {round: branch} that wins there in every lane, for a "what if".
    Raises SettingsError at once for a prompt that cannot be decoded.
    """

    def __init__(
        self, network: Transformer, prompt: Sequence[int], lanes: dict[str, DecodeSettings], forced: Mapping[int, int] | None = None
    ) -> None:
        for settings in lanes.values():
            check_prompt(prompt, network.config, settings)
        self.prompt = prompt
        self.recorders = {name: Recorder(prompt, LocalEngine(network), settings, forced) for name, settings in lanes.items()}

    def run(self) -> Iterator[tuple[str, TraceRound | None]]:
        """(decoder, round) until every lane has ended; first a few warm-up rounds, told as None and counted nowhere."""
        for name, recorder in self.recorders.items():
            for _ in warm_rounds(Recorder(self.prompt, recorder.engine, recorder.settings)):
                yield name, None
        running = dict(self.recorders)
        while running:
            name = min(running, key=lambda lane: running[lane].seconds)
            happened = running[name].step()
            if happened is None:
                del running[name]
            else:
                yield name, happened

    def traces(self, model: Model, prompt: str) -> list[Trace]:
        """What has happened so far, a trace per lane. prompt: the text that was encoded."""
        told = {"model": model.name, "prompt": prompt, "tokenizer": model.tokenizer, "hardware": model.hardware}
        return [recorder.trace(decoder=name, **told) for name, recorder in self.recorders.items()]


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
