"""One run of the page: prompt and settings in, growing viewer states out.

Says what is wrong in a sentence (PageError, SettingsError, ModelError) before anything on screen is touched. Knows
nothing of components. Nothing here belongs to one visitor but the `Stop` each run is given.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from ..decode.settings import SettingsError
from ..model.errors import ModelError
from ..runtime.race import Race
from ..runtime.session import Model
from ..tasks.examples import known
from ..trace.trace import Trace
from ..view.lanes import TITLES
from ..view.scorecard import scorecard
from ..view.state import FINISHED, RUNNING, STOPPED, About, draw, round_text, snapshot
from .shelf import PageError, Shelf, cleaned, encode, settings_of
from .words import plain

Told = tuple[Any, str, list[Trace] | None]  # what to show, sentence for the banner, traces once it is over
TICK, FIGURE_TICK = 0.11, 0.45  # least seconds between states, and between states with new figures
STATE_SHARE, FIGURE_SHARE = 30, 60  # a state may cost one part in so many of the run's time, drawing figures one in more
log = logging.getLogger(__name__)


class Stop:
    """A visitor's wish to end a run; set by another event while the run goes on."""

    def __init__(self) -> None:
        self.wanted = False


class Underway(Protocol):
    """A run as `states` tells of it."""

    def states(self, stop: Stop) -> Iterator[Any]:
        """What to show now and then; a wanted stop is seen after each round."""

    def last_state(self) -> Any:
        """What to show of a run that was broken off."""

    def traces(self) -> list[Trace] | None:
        """What the page keeps of it."""

    def remark(self) -> str:
        """What a visitor should know of the finished run, "" if nothing."""


def states(begin: Callable[[], Underway], stop: Stop) -> Iterator[Told]:
    """What to tell a page until the run has ended; None leaves a thing as it is.

    begin: checks everything and lines the run up, see `start` and `what_if`.
    """
    if stop.wanted:  # while it was waiting in the queue
        yield None, "Stopped before it began; what is on screen is from before.", None
        return
    running = None
    try:
        running = begin()
        for state in running.states(stop):
            yield state, "", None
        yield None, running.remark(), running.traces()
    except (PageError, SettingsError, ModelError) as error:
        yield broken_off(running, plain(str(error)))
    except Exception:
        log.exception("A run failed")
        yield broken_off(running, "Something went wrong on the server and is written to its log; please try again.")


def broken_off(running: Underway | None, sentence: str) -> Told:
    """The end of a run that failed: what it had stays, its lanes no longer running."""
    return (None, sentence, None) if running is None else (running.last_state(), sentence, running.traces())


def start(shelf: Shelf, prompt: str, model: str, left: str, right: str, values: dict[str, Any]) -> Running:
    """Check everything and line up a race of two decoders. Raises PageError, SettingsError, ModelError."""
    chosen = shelf.take(model)
    if left == right:
        raise PageError(f"Both sides are {TITLES.get(left, left)}: take two decoders.")
    settings = settings_of(values)
    lanes = {name: settings.decoder(name) for name in (left, right)}
    text = cleaned(prompt)
    return Running(chosen, text, chosen.race(encode(chosen, text), lanes))


class Running:
    """A race under way and what of it has been told. before: finished traces that are shown beside it."""

    def __init__(self, model: Model, prompt: str, race: Race, before: Sequence[Trace] = ()) -> None:
        self.model, self.prompt, self.race, self.before = model, prompt, race, list(before)
        self.about = About(run=uuid.uuid4().hex, source=where(model), live=True, what_if="")
        self.told = [[round_text(each) for each in trace.rounds] for trace in self.before]
        self.rounds: dict[str, list[str]] = {name: [] for name in race.tapes}
        self.figures = draw(self.traces())

    def states(self, stop: Stop) -> Iterator[dict[str, Any]]:
        """States now and then, the first at once; a wanted stop is seen after each round."""
        rounds = self.race.run()
        try:
            yield self.state(RUNNING)
            next_state = next_figures = time.monotonic() + TICK
            for name, happened in rounds:
                if happened is not None:  # None is a warm-up round
                    self.rounds[name].append(round_text(happened))
                if stop.wanted:
                    break
                began = time.monotonic()
                if began < next_state:
                    continue
                if began >= next_figures:
                    self.figures = draw(self.traces())
                    next_figures = pause(began, FIGURE_TICK, FIGURE_SHARE)
                yield self.state(RUNNING)
                next_state = pause(began, TICK, STATE_SHARE)
        finally:
            rounds.close()  # also when the visitor has gone: nothing runs on without a reader
        yield self.last_state()

    def state(self, status: str, **more: Any) -> dict[str, Any]:
        """The viewer's state, in lists of its own: Gradio compares it with the one before."""
        ended = [trace.reason != "stopped" for trace in self.before] + [tape.done for tape in self.race.tapes.values()]
        rounds = [*self.told, *self.rounds.values()]
        return snapshot(self.about, self.traces(), status=status, ended=ended, rounds=rounds, figures=self.figures, **more)

    def last_state(self) -> dict[str, Any]:
        """The state with everything in it; stopped lanes keep what they have."""
        traces = self.traces()
        self.figures = draw(traces)
        over = all(tape.done for tape in self.race.tapes.values())
        return self.state(FINISHED if over else STOPPED, card=scorecard(traces, known(self.prompt)))

    def traces(self) -> list[Trace]:
        """What has happened so far: finished ones, then those of the race."""
        return [*self.before, *self.model.traces(self.race, self.prompt)]

    def remark(self) -> str:
        """What a visitor should know of the finished run, "" if nothing."""
        return ""


def where(model: Model) -> str:
    """What runs and on what; of a model of the Hub, which state of its repository."""
    commit = f" (commit {model.commit[:8]})" if model.commit else ""
    return f"Live on {model.hardware}, model {model.name}{commit}"


def pause(began: float, least: float, share: int) -> float:
    """When to do again what was begun at `began` and has just been done: it may take one part in `share` of the time."""
    now = time.monotonic()
    return now + max(least, share * (now - began))
