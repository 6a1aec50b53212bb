"""LoPA's scaling curves (figures 4 and 5 of arXiv 2512.16229): one task at many numbers of branches and many thresholds.

A sweep is a set of points (k, tau_conf), each of which is measured once, also where two curves meet in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ..decode.settings import DecodeSettings, SettingsError
from ..runtime.session import Model
from ..tasks.problem import Problem
from .accuracy import Result, steps
from .curves import curves
from .files import ReportError

FORMAT, VERSION = "lopa-sweep", 1
LOOKAHEADS = tuple(range(15))  # as in the figures
TAUS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
ROUND, DECODE, POINT = "round", "decode", "point"  # what has just ended
SAME = ("model", "commit", "task", "seed", "problems", "hardware", "settings")  # of two sittings that make one report
Point = tuple[int, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is to be measured. base: LoPA's settings, of which one or two are changed; lookaheads: numbers k at the base's tau_conf;
    taus: thresholds, each at k = 0 (confidence decoding) and at the base's k. Raises SettingsError."""

    base: DecodeSettings
    lookaheads: tuple[int, ...] = ()
    taus: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.lookaheads and not self.taus:
            raise SettingsError("A sweep needs at least one number of branches or one threshold.")
        for point in self.points:
            self.settings(point)

    @property
    def points(self) -> list[Point]:
        """(k, tau_conf) of every point, the curve over k first."""
        over_k = [(k, self.base.tau_conf) for k in sorted(self.lookaheads)]
        over_tau = [(k, tau) for tau in sorted(self.taus) for k in (0, self.base.lookahead)]
        return list(dict.fromkeys(over_k + over_tau))

    def settings(self, point: Point) -> DecodeSettings:
        k, tau = point
        return replace(self.base, lookahead=k, tau_conf=tau)


class Sweep:
    """A sweep under way. problems: held-out ones of `task`, made from `seed`; before: the report of an earlier sitting, whose points
    are kept, those that it had planned included. Raises ReportError where that was another sweep."""

    def __init__(
        self, plan: Plan, model: Model, problems: Sequence[Problem], *, task: str, seed: int = 0, before: Mapping[str, Any] | None = None
    ) -> None:
        self.model, self.problems = model, problems
        self.about = {
            "format": FORMAT, "version": VERSION, "task": task, "model": model.name, "commit": model.commit or "",
            "hardware": model.hardware, "seed": seed, "problems": len(problems), "settings": asdict(plan.base),
        }  # fmt: skip
        self.rows: dict[Point, dict[str, Any]] = {}
        if before is not None:
            check_same(before, self.about)
            joined = {name: tuple({*before[name], *getattr(plan, name)}) for name in ("lookaheads", "taus")}
            plan = replace(plan, **joined)
            self.rows = {(row["lookahead"], row["tau_conf"]): dict(row) for row in before["points"]}
        self.plan = plan
        self.current: Point | None = None

    @property
    def missing(self) -> list[Point]:
        return [point for point in self.plan.points if point not in self.rows]

    @property
    def decodes_left(self) -> int:
        """Of the points that are missing as a whole."""
        return len(self.missing) * len(self.problems)

    def run(self) -> Iterator[str]:
        """Measure what is missing, point by point; it can be left after any step (ROUND, DECODE, POINT), points that have ended stay."""
        for point in self.missing:
            self.current = point
            result = Result("lopa", self.plan.settings(point))
            for ended in steps(self.model, self.problems, [result]):
                yield ROUND if ended is None else DECODE
            self.rows[point] = row(point, result)
            yield POINT

    def report(self) -> dict[str, Any]:
        """Everything that is known so far, as JSON data."""
        points = [self.rows[point] for point in self.plan.points if point in self.rows]
        told = self.about | {
            "recorded": datetime.now(UTC).isoformat(timespec="seconds"), "lookaheads": sorted(self.plan.lookaheads),
            "taus": sorted(self.plan.taus), "points": points,
        }  # fmt: skip
        return told | {"aup": {curve["name"]: curve["aup"] for curve in curves(told)}}


def row(point: Point, result: Result) -> dict[str, Any]:
    """A point's numbers: sums over its problems, ratios of sums, accuracy in percent."""
    told = result.as_dict()
    kept = ("problems", "accuracy", "accuracy_low", "accuracy_high", "tpf", "rounds", "branch_forwards", "tokens", "seconds")
    numbers = {name: told[name] for name in (*kept, "tokens_per_second")}
    return {"lookahead": point[0], "tau_conf": point[1], "right": result.right} | numbers


def check_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise ReportError where a report is of another sweep than the one that is to go on."""
    for name in SAME:
        there, here = before[name], now[name]
        if there != here:
            if isinstance(here, dict):
                name = next(each for each in (*here, *there) if there.get(each) != here.get(each))
                there, here = there.get(name), here.get(name)
            raise ReportError(
                f"This report cannot be gone on with: its {name.replace('_', ' ')} is {shown(there)}, not {shown(here)}; "
                "save to another file, or start anew without --resume."
            )


def shown(value: Any) -> str:
    """A value of a file, of which a person is told."""
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
