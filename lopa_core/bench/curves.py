"""The curves of a sweep's report: which of its points lie on which line, and how good each line is as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .aup import aup

OVER_K, BASELINE, LOPA = "over_k", "baseline", "lopa"


def curves(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A line for every one that was planned, its points in the order of what is swept, as many of them as there are.

    name: OVER_K (k branches at the settings' tau_conf), BASELINE and LOPA (k = 0 and the settings' k, over tau_conf);
    swept, fixed: which setting changes, and the other one's value; values: those planned; aup: see `aup`, y_best being the best
    accuracy in this report.
    """
    base, points = report["settings"], report["points"]
    best = max((point["accuracy"] for point in points), default=0.0)
    lines = [(OVER_K, "lookahead", report["lookaheads"], "tau_conf", base["tau_conf"])]
    lines += [(name, "tau_conf", report["taus"], "lookahead", k) for name, k in ((BASELINE, 0), (LOPA, base["lookahead"]))]
    told = []
    for name, swept, values, other, fixed in lines:
        if not values or (name == LOPA and fixed == 0):  # with no branches of its own LoPA is the baseline
            continue
        own = sorted((point for point in points if point[other] == fixed and point[swept] in values), key=lambda point: point[swept])
        score = aup([(point["tpf"], point["accuracy"]) for point in own], best)
        told.append({"name": name, "swept": swept, "fixed": fixed, "values": sorted(values), "points": own, "aup": round(score, 1)})
    return told
