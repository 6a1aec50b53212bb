"""What decoders get right and what it takes, in Markdown: reports of `bench` and of `sweep`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ..tables import ACCURACY, DECODERS, Columns, Row, some, table
from .measurement import Part, Result

BASELINE, LOPA, PUBLISHED, ONE = "confidence", "lopa", "lopa-paper", "vanilla"
COSTS = (ACCURACY, "TPF", "rounds", "branch-forwards")
# of a sweep, what a table shows of it; the page draws every point
SHOWN_LOOKAHEADS, SHOWN_TAUS = (0, 1, 3, 7, 14), (0.5, 0.7, 0.95)
CURVES = {"over_k": "LoPA over k", "baseline": "the baseline over τ", "lopa": "LoPA over τ"}


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def compared(*sentences: Callable[[dict[str, Row]], str]) -> Part:
    """A part with a row per decoder, and a sentence each that `sentences` make of {decoder: row}."""
    return partial(_compared, sentences)


def _compared(sentences: Iterable[Callable[[dict[str, Row]], str]], told: Result) -> str:
    columns = {"decoder": partial(label, told["settings"])} | some(DECODERS, *COSTS)
    rows = by_name(told)
    return f"{table(columns, told['results'])}\n\n{bullets(sentence(rows) for sentence in sentences)}"


def by_name(told: Result) -> dict[str, Row]:
    return {row["decoder"]: row for row in told["results"]}


def label(settings: Row, row: Row) -> str:
    """A decoder's name with the setting that makes it."""
    k, tau = settings["lookahead"], settings["tau_conf"]
    names = {
        ONE: "vanilla: one token per pass", BASELINE: f"confidence, τ {tau:g}: the baseline", LOPA: f"**LoPA**, k = {k}",
        PUBLISHED: f"LoPA, k = {k}, as published",
    }  # fmt: skip
    return names.get(row["decoder"], row["decoder"])


def gain(rows: dict[str, Row]) -> str:
    base, lopa = rows[BASELINE], rows[LOPA]
    times = f"{lopa['tpf'] / base['tpf']:.2f} times the baseline's {base['tpf']:.2f}"
    return (
        f"LoPA commits **{lopa['tpf']:.2f} tokens per forward pass**, {times}, and answers {lopa['accuracy']:.1f} % right "
        f"(the baseline: {base['accuracy']:.1f} %)."
    )


def published(rows: dict[str, Row]) -> str:
    row = rows[PUBLISHED]
    return f"*As published*, LoPA commits {row['tpf']:.2f} tokens per pass and answers {row['accuracy']:.1f} % right."


def losses(rows: dict[str, Row]) -> str:
    one, base, lopa = (f"{rows[name]['accuracy']:.1f} %" for name in (ONE, BASELINE, LOPA))
    return f"Right are {one} at one token per pass, {base} for the baseline, {lopa} for LoPA."


def headline(told: Result) -> str:
    count = told["results"][0]["problems"]
    return bullets([f"On {count} held-out word problems {gain(by_name(told))}"])


def shelf(told: Result) -> str:
    """Every decoder, and what stands out among them."""
    rows = by_name(told)
    columns = some(DECODERS, "decoder", *COSTS, "extra tokens", "seconds", "tokens/s")
    return f"{table(columns, told['results'])}\n\n{bullets(outstanding(rows))}"


def outstanding(rows: dict[str, Row]) -> list[str]:
    base = rows[BASELINE]
    fewest = min(rows.values(), key=lambda row: row["rounds"])
    better = [row for row in rows.values() if row["accuracy_low"] > base["accuracy"] and row["decoder"] != ONE]
    better.sort(key=lambda row: row["rounds"])
    adaptive, lossless = rows["adaptive-lopa"], rows["freedave"]
    count = lossless["problems"]
    return [
        f"The fewest passes: {costs(fewest)}; the baseline: {costs(base)}.",
        "**More accurate** than the baseline, by an interval that lies above its accuracy: "
        + ("; ".join(map(costs, better)) or "none but one token per pass")
        + ".",
        f"Adaptive LoPA (ours): {costs(adaptive)}, {DECODERS['seconds'](adaptive)} s; the baseline takes {DECODERS['seconds'](base)} s.",
        f"FreeDave writes the same text as one token per pass on {lossless['same_text']} of {count} problems.",
    ]


def costs(row: Row) -> str:
    return f"{row['decoder']}, {row['accuracy']:.0f} % right in {DECODERS['rounds'](row)} passes"


def curves(told: Result) -> str:
    """Some points of a sweep over k and over the threshold, and the areas under its curves."""
    base = told["settings"]["tau_conf"]
    shown = [
        point for point in told["points"]
        if point["lookahead"] in SHOWN_LOOKAHEADS and (point["tau_conf"] == base or point["tau_conf"] in SHOWN_TAUS)
    ]  # fmt: skip
    areas = ", ".join(f"{CURVES[name]} {value:.0f}" for name, value in told["aup"].items())
    return f"{points(shown)}\n\n- {told['problems']} problems; AUP: {areas}."


def over_lookaheads(told: Result) -> str:
    """Every point of a sweep over k."""
    return points(told["points"])


def points(shown: list[dict[str, Any]]) -> str:
    setting: Columns = {"setting": lambda point: f"τ {point['tau_conf']:g}, k = {point['lookahead']}"}
    return table(setting | some(DECODERS, *COSTS), shown)
