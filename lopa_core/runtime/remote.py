"""A race that runs in a pool of workers, as this process sees it: tapes that are filled by messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from ..decode.round import Outcome
from ..model.family import ModelConfig
from ..trace.recorder import Tape
from ..trace.trace import TraceRound
from .race import Lanes, check_lanes

if TYPE_CHECKING:
    from .crew import Crew

_ROUND = TypeAdapter(TraceRound)


def round_from_json(message: dict[str, Any]) -> TraceRound:
    return _ROUND.validate_python(message)


class RemoteRace:
    """Raises SettingsError at once for a prompt that cannot be decoded, and PoolFault from `run` if the workers fail."""

    def __init__(
        self, crew: Crew, config: ModelConfig, prompt: Sequence[int], lanes: Lanes, forced: Mapping[int, int] | None = None,
        warm: bool = True,
    ) -> None:  # fmt: skip
        check_lanes(prompt, config, lanes)
        self.crew = crew
        self.request = {
            "prompt": [int(token) for token in prompt],
            "lanes": {name: asdict(settings) for name, settings in lanes.items()},
            "warm": warm,
            "forced": {str(index): branch for index, branch in (forced or {}).items()},
        }
        self.tapes = {name: Tape(prompt, settings, config, crew.names, forced) for name, settings in lanes.items()}

    def run(self) -> Iterator[tuple[str, TraceRound | None]]:
        messages = self.crew.run(self.request)
        try:
            for message in messages:
                tape = self.tapes[message["lane"]]
                tape.devices = self.crew.names  # there may have been a fresh start while this race was waiting
                if "outcome" in message:
                    told = message["outcome"]
                    tape.finish(Outcome(tuple(told["tokens"]), told["reason"]))
                    continue
                happened = message["round"] and round_from_json(message["round"])
                if happened:
                    tape.add(happened)
                yield message["lane"], happened
        finally:
            messages.close()  # a reader who has left cancels the run
