"""A small sweep of the page: what a visitor chose in, growing curves and a line of progress out. Knows nothing of components.

It has the shape of a run (run.Underway), so what is wrong is a sentence, and what was measured stays on screen.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from ..bench.curves import curves
from ..bench.sweep import DECODE, POINT, Plan, Sweep
from ..decode.settings import DecodeSettings
from ..model.presets import DEFAULT
from ..runtime.session import Model
from ..tasks.registry import TASKS
from ..view.replay import figures_state
from ..view.scaling import about, scaling_figures
from .run import TICK, Stop
from .shelf import PageError, Shelf, settings_of
from .widgets import NAMES, defaults
from .words import label

TASK = "mixed"
OVER_K, OVER_TAU = "k", "tau"
LOOKAHEADS = (0, 1, 2, 3, 5, 7, 10, 14)  # to choose from
TAUS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
LEAST, MOST = 5, 50  # problems
LONGEST = 120.0  # seconds of a sweep, in which others wait
SWEPT = {"lookahead", "tau_conf"}
State = tuple[dict[str, Any], dict[str, Any]]  # the viewer's, and the line of progress: {"share", "text"}


def start_sweep(
    shelf: Shelf, recorded: Mapping[str, Any] | None, over: str, lookaheads: Sequence[int], taus: Sequence[float], count: float,
    model: str, values: dict[str, Any],
) -> Sweeping:  # fmt: skip
    """Check everything and line it up. recorded: a report to draw in grey. Raises PageError, SettingsError, ModelError."""
    chosen = shelf.take(model)
    if chosen.tokenizer is None:
        raise PageError(f"{chosen.name} has no tokenizer, so it cannot read the problems: take another model under Settings.")
    if chosen.lent:
        raise PageError(
            "This model's GPU is lent for one decode at a time, so a sweep would take hours here: run the command above instead."
        )
    if count not in range(LEAST, MOST + 1):
        raise PageError(f"A sweep on this page takes {LEAST} to {MOST} problems.")
    if not (lookaheads if over == OVER_K else taus):
        raise PageError("Nothing to try is chosen: take at least one value.")
    axis = {"lookaheads": tuple(lookaheads)} if over == OVER_K else {"taus": tuple(taus)}
    plan = Plan(base=settings_of(values).decoder("lopa"), **axis)
    sweep = Sweep(plan, chosen, list(TASKS[TASK](int(count), split="test")), task=TASK)
    return Sweeping(sweep, recorded if recorded and recorded["model"] == chosen.name else None, notes(chosen, plan.base))


def notes(model: Model, base: DecodeSettings) -> str:
    """In which settings this is not the model's own LoPA, and whose problems these are."""
    usual = defaults(model.source)
    changed = [f"{label(name)} {getattr(base, name)}" for name in NAMES if name not in SWEPT and getattr(base, name) != usual[name]]
    told = [f"With {', '.join(changed)}."] if changed else []
    if model.name != DEFAULT:
        told.append("The problems are made for the embedded model; another may solve few.")
    return " ".join(told)


class Sweeping:
    """A sweep under way, and what of it has been told."""

    def __init__(self, sweep: Sweep, recorded: Mapping[str, Any] | None, note: str) -> None:
        self.sweep, self.note = sweep, note
        self.behind = curves(recorded) if recorded else []
        self.total, self.done, self.began = sweep.decodes_left, 0, time.monotonic()
        self.figures = self.draw()

    def states(self, stop: Stop) -> Iterator[State]:
        """A state at first, then now and then; a wanted stop and the time limit are seen after each round."""
        yield self.state()
        self.began = shown = time.monotonic()
        with closing(self.sweep.run()) as steps:
            for ended in steps:
                if stop.wanted or self.late:
                    break
                self.done += ended == DECODE
                if ended == POINT:
                    self.figures = self.draw()
                if ended == POINT or time.monotonic() > shown + TICK:
                    yield self.state()
                    shown = time.monotonic()
        yield self.last_state()

    @property
    def late(self) -> bool:
        return time.monotonic() > self.began + LONGEST

    def draw(self) -> dict[str, Any]:
        told = self.sweep.report()
        return figures_state(scaling_figures(curves(told), f"Live: {about(told)} {self.note}".strip(), self.behind))

    def state(self) -> State:
        return self.figures, {"share": self.done / self.total, "text": self.progress()}

    def last_state(self) -> State:
        over = not self.sweep.missing
        text = f"All {len(self.sweep.rows)} points are measured." if over else f"Stopped; {self.points()} are measured and stay."
        return self.figures, {"share": 1.0 if over else self.done / self.total, "text": text}

    def progress(self) -> str:
        """Where it is, and how long it may still take."""
        where = f"{self.sweep.model.name} on {self.sweep.model.hardware}: {self.points()}"
        if self.sweep.current is None:
            return f"{where}."
        k, tau = self.sweep.current
        number = min(self.done % len(self.sweep.problems) + 1, len(self.sweep.problems))
        return f"{where}; at k = {k}, τ = {tau:g} problem {number} of {len(self.sweep.problems)}{self.left()}."

    def points(self) -> str:
        return f"{len(self.sweep.rows)} of {len(self.sweep.plan.points)} points"

    def left(self) -> str:
        """From the decodes so far; nothing before there are some."""
        if self.done < 3:
            return ""
        seconds = round((time.monotonic() - self.began) / self.done * (self.total - self.done))
        return f", about {seconds // 60}:{seconds % 60:02} left"

    def remark(self) -> str:
        if not (self.late and self.sweep.missing):
            return ""
        return f"This page gives a sweep {LONGEST / 60:g} minutes, so that others get their turn; for more, run the command above."

    def traces(self) -> None:
        """Thousands of decodes: nothing is kept."""
