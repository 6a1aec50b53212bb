"""A race as plain messages, for whoever asked for it from another process; remote.RemoteRace is the reader.

Numbers, texts, lists and dicts only: they cross as JSON to and from the workers, as pickles where a process was forked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..decode.settings import DecodeSettings, SettingsError
from ..model.errors import ModelError
from ..model.family import ModelConfig
from ..trace.plain import round_data
from ..trace.recorder import Measured, Tape
from .race import LocalRace

OUT_OF_MEMORY = ("out of memory", "can't allocate memory")  # of a device, and of this machine in torch's words


def line_up(request: Mapping[str, Any], open_engine: Callable[[], Measured], config: ModelConfig) -> LocalRace:
    """The race that a RemoteRace's request asks for. Raises SettingsError."""
    lanes = {name: DecodeSettings(**settings) for name, settings in request["lanes"].items()}
    forced = {int(index): branch for index, branch in request["forced"].items()}
    return LocalRace(open_engine, config, request["prompt"], lanes, forced, request["warm"])


def told(race: LocalRace) -> Iterator[dict[str, Any]]:
    """Run a race: a message per round (None of a warm-up) and one per lane that is through. Leaving it ends the race."""
    running, rounds = dict(race.tapes), race.run()
    try:
        for name, happened in rounds:
            yield from outcomes(running)
            yield {"lane": name, "round": happened and round_data(happened)}
        yield from outcomes(running)
    finally:
        rounds.close()


def outcomes(running: dict[str, Tape]) -> Iterator[dict[str, Any]]:
    """Tell of the lanes that are through, once each, and take them out of `running`."""
    for name in [name for name, tape in running.items() if tape.done]:
        tape = running.pop(name)
        yield {"lane": name, "outcome": {"reason": tape.reason, "tokens": tape.tokens}}


def fault(error: Exception) -> dict[str, str]:
    """How a race ended by `error`, for who asked: refused, or out of memory. Any other error is raised again."""
    if isinstance(error, (SettingsError, ModelError)):
        return {"ended": "refused", "error": str(error)}
    if out_of_memory(error):
        return {"ended": "memory", "error": first_line(error)}
    raise error


def out_of_memory(error: Exception) -> bool:
    said = str(error).lower()
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(each in said for each in OUT_OF_MEMORY))


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
