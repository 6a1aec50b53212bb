"""Decoders on a task with checkable answers: accuracy beside rounds, branch-forwards, tokens and seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from ..decode.settings import DecodeSettings
from ..runtime.session import Model
from ..tasks.problem import Problem, is_correct
from ..trace.metrics import Metrics, measure, total


@dataclass(slots=True)
class Result:
    """One decoder on the problems so far."""

    decoder: str
    settings: DecodeSettings
    right: int = 0
    same_text: int = 0  # problems on which it wrote what the first decoder wrote: all of them for a lossless one beside vanilla
    metrics: list[Metrics] = field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        """Sums over all problems, ratios of sums, accuracy in percent with its 95 % interval."""
        count = len(self.metrics)
        low, high = interval(self.right, count)
        accuracy = {"accuracy": 100 * self.right / count, "accuracy_low": 100 * low, "accuracy_high": 100 * high}
        return {"decoder": self.decoder, "problems": count, "same_text": self.same_text} | accuracy | total(self.metrics).as_dict()


def run(
    model: Model, problems: Sequence[Problem], lanes: dict[str, DecodeSettings], progress: Callable[[], None] = lambda: None
) -> list[Result]:
    """Every problem through every decoder, one after the other; `progress` is called after each decode."""
    results = [Result(name, settings) for name, settings in lanes.items()]
    for result in steps(model, problems, results):
        if result is not None:
            progress()
    return results


def steps(model: Model, problems: Sequence[Problem], results: Sequence[Result]) -> Iterator[Result | None]:
    """`run` in steps, so that it can be left at any of them: None after a round, and after a decode the result it has gone into."""
    for index, problem in enumerate(problems):
        prompt, first = model.encode(problem.question), None
        for result in results:
            race = model.race(prompt, {result.decoder: result.settings}, warm=index == 0)
            with closing(race.run()) as rounds:
                for _ in rounds:
                    yield None
            (trace,) = model.traces(race, "")
            first = trace.ids if first is None else first
            result.same_text += trace.ids == first
            result.right += is_correct(trace.text, problem)
            result.metrics.append(measure(trace))
            yield result


def interval(right: int, count: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    if not count:
        return 0.0, 1.0
    share = right / count
    centre = share + z * z / (2 * count)
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(0.0, (centre - spread) / (1 + z * z / count)), min(1.0, (centre + spread) / (1 + z * z / count))
