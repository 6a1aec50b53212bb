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
    """The models a page offers, by name: the one it was started with, and the catalogue's, opened when first asked for."""

    def __init__(self, model: Model) -> None:
        self.opened = {model.name: model}
        self.first = model.name

    def choices(self) -> list[tuple[str, str]]:
        """(title, name) pairs for a menu."""
        return [(PRESETS[name].title if name in PRESETS else name, name) for name in dict.fromkeys((self.first, *PRESETS))]

    def take(self, name: str) -> Model:
        """The model of this name. Raises PageError or ModelError."""
        if name not in self.opened:
            if name not in PRESETS:
                raise PageError(f"There is no model {name!r} here: take one of the menu's.")
            self.opened[name] = open_model(PRESETS[name].folder)
        return self.opened[name]


def encode(model: Model, prompt: str) -> list[int]:
    """Token ids of a prompt. Raises PageError, ModelError."""
    text = prompt.strip()
    if not text:
        raise PageError("The prompt is empty: write one or pick an example.")
    if len(text) > LONGEST_PROMPT:
        raise PageError(f"The prompt has {len(text)} characters; this page takes up to {LONGEST_PROMPT}.")
    if model.tokenizer:
        return model.tokenizer.encode_prompt(text)
    try:
        return [int(part) for part in text.split()]
    except ValueError:
        raise PageError("This model has no tokenizer: give the prompt as token ids with spaces between them.") from None


def settings_of(values: dict[str, Any]) -> DecodeSettings:
    """Settings from widgets, whose whole numbers may arrive as floats. Raises SettingsError."""
    whole = {name: int(value) for name, value in values.items() if isinstance(value, float) and value.is_integer()}
    return DecodeSettings(**(values | whole))


def states(
    shelf: Shelf, stop: Stop, prompt: str, model: str, baseline: str, values: dict[str, Any]
) -> Iterator[tuple[dict[str, Any] | None, str]]:
    """(viewer state or None to leave it as it is, sentence for the banner or "") until both decoders have ended."""
    last = None
    try:
        for last in start(shelf, prompt, model, baseline, values).states(stop):
            yield last, ""
    except (PageError, SettingsError, ModelError) as error:
        yield last, str(error)
    except Exception:
        log.exception("A run failed")
        stopped = last and last | {"status": STOPPED, "traces": [lane | {"status": STOPPED} for lane in last["traces"]]}
        yield stopped, "Something went wrong on the server and is written to its log; please try again."


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
        told = {"model": self.model.name, "prompt": self.prompt, "tokenizer": self.model.tokenizer, "hardware": self.model.hardware}
        return [recorder.trace(decoder=name, **told) for name, recorder in self.race.recorders.items()]
