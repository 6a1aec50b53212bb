"""One run of the page: prompt and settings in, growing viewer states out.

Says what is wrong in a sentence (PageError, SettingsError, ModelError) before anything on screen is touched. Knows
nothing of components. Nothing here belongs to one visitor but the `Stop` each run is given.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator
from typing import Any

from ..decode.settings import DecodeSettings, SettingsError
from ..model.errors import ModelError
from ..model.presets import PRESETS
from ..runtime.race import Race
from ..runtime.session import Model, open_model
from ..trace.trace import Trace
from .examples import known
from .scorecard import scorecard
from .state import FINISHED, RUNNING, STOPPED, draw, round_text, snapshot
from .words import plain

LONGEST_PROMPT = 2000  # characters
BASELINES = ("confidence", "vanilla")
TICK, FIGURE_TICK = 0.11, 0.45  # seconds between states, and between states with new figures
log = logging.getLogger(__name__)


class PageError(ValueError):
    """An input the page cannot use; the message is for a person."""


class Stop:
    """A visitor's wish to end a run; set by another event while the run goes on."""

    def __init__(self) -> None:
        self.wanted = False


class Shelf:
    """The models a page offers, by name: the one it was started with, and the catalogue's, opened when first asked for.

    A name in PRESETS means that preset; a folder that only shares its name goes by its path.
    """

    def __init__(self, model: Model) -> None:
        folders = {preset.folder.resolve(): name for name, preset in PRESETS.items()}
        own = str(model.folder) if model.name in PRESETS else model.name
        self.first = folders.get(model.folder.resolve(), own)
        self.opened = {self.first: model}
        self.device, self.dtype = model.network.embed.weight.device, model.network.embed.weight.dtype

    def choices(self) -> list[tuple[str, str]]:
        """(title, name) pairs for a menu."""
        names = dict.fromkeys((self.first, *PRESETS))
        return [(PRESETS[name].title if name in PRESETS else self.opened[name].name, name) for name in names]

    def take(self, name: str) -> Model:
        """The model of this name. Raises PageError or ModelError."""
        if name not in self.opened:
            if name not in PRESETS:
                raise PageError(f"There is no model {name!r} here: take one of the menu's.")
            self.opened[name] = open_model(PRESETS[name].folder, device=self.device, dtype=self.dtype)
        return self.opened[name]


def encode(model: Model, prompt: str) -> list[int]:
    """Token ids of a prompt. Raises PageError, SettingsError, ModelError."""
    if len(prompt.strip()) > LONGEST_PROMPT:
        raise PageError(f"The prompt has {len(prompt.strip())} characters; this page takes up to {LONGEST_PROMPT}.")
    return model.encode(prompt)


def settings_of(values: dict[str, Any]) -> DecodeSettings:
    """Settings from widgets, whose whole numbers may arrive as floats. Raises SettingsError."""
    whole = {name: int(value) for name, value in values.items() if isinstance(value, float) and value.is_integer()}
    return DecodeSettings(**(values | whole))


def states(
    shelf: Shelf, stop: Stop, prompt: str, model: str, baseline: str, values: dict[str, Any]
) -> Iterator[tuple[dict[str, Any] | None, str]]:
    """(viewer state or None to leave it as it is, sentence for the banner or "") until both decoders have ended."""
    if stop.wanted:  # while it was waiting in the queue
        yield None, "Stopped before it began; what is on screen is from before."
        return
    last = None
    try:
        for last in start(shelf, prompt, model, baseline, values).states(stop):
            yield last, ""
    except (PageError, SettingsError, ModelError) as error:
        yield broken_off(last), plain(str(error))
    except Exception:
        log.exception("A run failed")
        yield broken_off(last), "Something went wrong on the server and is written to its log; please try again."


def broken_off(last: dict[str, Any] | None) -> dict[str, Any] | None:
    """The last state of a run that failed, its lanes no longer running; None if it never began."""
    return last and last | {"status": STOPPED, "traces": [lane | {"status": STOPPED} for lane in last["traces"]]}


def start(shelf: Shelf, prompt: str, model: str, baseline: str, values: dict[str, Any]) -> Running:
    """Check everything and line up a race. Raises PageError, SettingsError, ModelError."""
    chosen = shelf.take(model)
    if baseline not in BASELINES:
        raise PageError(f"There is no baseline {baseline!r}: take {' or '.join(BASELINES)}.")
    settings = settings_of(values)
    lanes = {name: settings.decoder(name) for name in (baseline, "lopa")}
    return Running(chosen, prompt.strip(), Race(chosen.network, encode(chosen, prompt), lanes))


class Running:
    """A race under way and what of it has been told."""

    def __init__(self, model: Model, prompt: str, race: Race) -> None:
        self.model, self.prompt, self.race = model, prompt, race
        self.id = uuid.uuid4().hex
        self.rounds: dict[str, list[str]] = {name: [] for name in race.recorders}
        self.figures = draw(self.traces())

    def states(self, stop: Stop) -> Iterator[dict[str, Any]]:
        """States at most every TICK, the first at once; a wanted stop is seen after each round."""
        rounds = self.race.run()
        try:
            yield self.state(RUNNING)
            told = drawn = time.monotonic()
            for name, happened in rounds:
                if happened is not None:  # None is a warm-up round
                    self.rounds[name].append(round_text(happened))
                if stop.wanted:
                    break
                if time.monotonic() - told < TICK:
                    continue
                if time.monotonic() - drawn > FIGURE_TICK:
                    self.figures, drawn = draw(self.traces()), time.monotonic()
                yield self.state(RUNNING)
                told = time.monotonic()
        finally:
            rounds.close()  # also when the visitor has gone: nothing runs on without a reader
        yield self.last_state()

    def state(self, status: str, **more: Any) -> dict[str, Any]:
        """The viewer's state, in lists of its own: Gradio compares it with the one before."""
        ended = [recorder.done for recorder in self.race.recorders.values()]
        return snapshot(self.id, self.traces(), status=status, ended=ended, rounds=list(self.rounds.values()), figures=self.figures, **more)

    def last_state(self) -> dict[str, Any]:
        """The state with everything in it; stopped lanes keep what they have."""
        traces = self.traces()
        self.figures = draw(traces)
        over = all(recorder.done for recorder in self.race.recorders.values())
        return self.state(FINISHED if over else STOPPED, card=scorecard(traces, known(self.prompt)))

    def traces(self) -> list[Trace]:
        """What has happened so far: baseline, LoPA."""
        return self.race.traces(self.model, self.prompt)
