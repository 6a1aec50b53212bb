"""Time per round of the loop on any checkpoint, and where it goes: network, observation, the host's own part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..decode.settings import DecodeSettings
from ..model.network import Transformer
from ..runtime.local import LocalEngine
from ..runtime.race import warm_up
from ..trace.recorder import Recorder


@dataclass(frozen=True, slots=True)
class RoundTime:
    """Milliseconds per round of one setting (median of the repeats) and their parts."""

    lookahead: int
    rounds: int
    milliseconds: float
    network: float
    observation: float

    @property
    def host(self) -> float:
        return self.milliseconds - self.network - self.observation

    @property
    def outside_network_share(self) -> float:
        """Everything but the transformer and its head: observation, schedule, selection, branching, recording."""
        return 1 - self.network / self.milliseconds


def time_rounds(network: Transformer, prompt: Sequence[int], settings: Sequence[DecodeSettings], repeats: int) -> list[RoundTime]:
    """Each setting `repeats` times, in turn, so that a drift of the machine's speed meets all of them."""
    engine = LocalEngine(network)
    runs: list[list[RoundTime]] = [[] for _ in settings]
    for chosen in settings:
        warm_up(Recorder(prompt, engine, chosen))
    for _ in range(repeats):
        for kept, chosen in zip(runs, settings):
            kept.append(time_once(engine, prompt, chosen))
    return [sorted(kept, key=lambda each: each.milliseconds)[len(kept) // 2] for kept in runs]


def time_once(engine: LocalEngine, prompt: Sequence[int], settings: DecodeSettings) -> RoundTime:
    recorder = Recorder(prompt, engine, settings)
    recorder.run()
    count = len(recorder.rounds)
    total, network, observation = (1000 * each / count for each in (recorder.seconds, engine.seconds_in_network, engine.seconds_observing))
    return RoundTime(settings.lookahead, count, total, network, observation)
