"""A sweep's report read back from its file, every number checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..decode.settings import LARGEST_LOOKAHEAD
from .files import ReportError, load, number
from .sweep import FORMAT, VERSION

MAKE = "python -m lopa_core sweep --out FILE"
ROUNDING = 1e-6  # of an interval that ends at 0 or at 100
MOST = 1000  # points, or values on an axis
RANGES = {
    "lookahead": (0, LARGEST_LOOKAHEAD), "tau_conf": (0, 1), "problems": (1, 1e6), "right": (0, 1e6), "accuracy": (0, 100),
    "accuracy_low": (0, 100), "accuracy_high": (0, 100), "tpf": (0, 1e6), "rounds": (0, 1e12), "branch_forwards": (0, 1e12),
    "tokens": (0, 1e12), "seconds": (0, 1e12), "tokens_per_second": (0, 1e12),
}  # fmt: skip
WHOLE = ("lookahead", "problems", "right", "rounds", "branch_forwards", "tokens")
TEXTS = ("task", "model", "commit", "hardware", "recorded")
LONGEST = 300  # characters


def read(path: Path) -> dict[str, Any]:
    """Raises ReportError with a sentence that says what is wrong."""
    told = load(path, FORMAT, VERSION, MAKE)
    if not all(isinstance(told.get(name), str) and len(told[name]) <= LONGEST for name in TEXTS):
        raise ReportError(f"{path.name} is damaged: it does not say what was run where.")
    if not planned(told):
        raise ReportError(f"{path.name} is damaged: it does not say what was swept.")
    check_points(told, path.name)
    return told


def planned(told: dict[str, Any]) -> bool:
    """Whether axes, settings and number of problems are told."""
    settings = told.get("settings")
    based = isinstance(settings, dict) and all(number(settings.get(name), *RANGES[name]) for name in ("lookahead", "tau_conf"))
    axes = axis(told.get("lookaheads"), RANGES["lookahead"]) and axis(told.get("taus"), RANGES["tau_conf"])
    return based and axes and isinstance(told.get("seed"), int) and number(told.get("problems"), *RANGES["problems"])


def axis(values: Any, within: tuple[float, float]) -> bool:
    return isinstance(values, list) and len(values) <= MOST and all(number(each, *within) for each in values)


def check_points(told: dict[str, Any], name: str) -> None:
    """Raise ReportError at the first point that cannot be."""
    points = told.get("points")
    if not isinstance(points, list) or len(points) > MOST:
        raise ReportError(f"{name} is damaged: it has no list of points.")
    for index, point in enumerate(points, 1):
        wrong = fault(point, told.get("problems"))
        if wrong:
            raise ReportError(f"{name} is damaged: point {index} {wrong}.")
    if len({(point["lookahead"], point["tau_conf"]) for point in points}) < len(points):
        raise ReportError(f"{name} is damaged: two of its points are the same.")


def fault(point: Any, problems: Any) -> str:
    """What is wrong with a point, "" if nothing is."""
    if not isinstance(point, dict):
        return "is no object"
    for name, within in RANGES.items():
        if not number(point.get(name), *within) or (name in WHOLE and not isinstance(point[name], int)):
            return f"has no {name.replace('_', ' ')} that can be"
    if point["problems"] != problems or point["right"] > problems:
        return "is of another number of problems"
    ordered = point["accuracy_low"] - ROUNDING <= point["accuracy"] <= point["accuracy_high"] + ROUNDING
    return "" if ordered else "has an accuracy outside of its interval"
