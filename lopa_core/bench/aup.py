"""AUP, accuracy under parallelism: one number for a whole curve of speed against accuracy, as d3LLM (arXiv 2601.07568) defines it."""

from __future__ import annotations

import math
from collections.abc import Iterable

DROP = 5.0  # points of accuracy below the slowest setting from which on a setting does not count
STEEPNESS = 3.0


def aup(points: Iterable[tuple[float, float]], best: float) -> float:
    """points: (tokens per forward pass, accuracy in percent), in any order; best: the best accuracy in percent that any method has.

    With the points in the order of r = TPF, those more than 5 points of accuracy below the first left out:

        AUP = r1 y1 + sum_i (r_i - r_{i-1}) (y_i W(y_i) + y_{i-1} W(y_{i-1})) / 2,    W(y) = min(exp(-3 (1 - y / best)), 1)

    0 for no points, and where nothing is ever right.
    """
    ordered = sorted(points)
    if not ordered or best <= 0:
        return 0.0
    first = ordered[0]
    kept = [each for each in ordered if each[1] >= first[1] - DROP]
    weighed = [(tpf, accuracy * weight(accuracy, best)) for tpf, accuracy in kept]
    return first[0] * first[1] + sum((r1 - r0) * (y0 + y1) / 2 for (r0, y0), (r1, y1) in zip(weighed, weighed[1:]))


def weight(accuracy: float, best: float) -> float:
    """What an accuracy counts beside the best one: 1 for it, less and less below."""
    return min(math.exp(-STEEPNESS * (1 - accuracy / best)), 1.0)
