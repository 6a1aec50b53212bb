"""Scaling curves of LoPA, as in figures 4 and 5 of arXiv 2512.16229: TPF and accuracy over its branches and over the threshold.

A curve is what `bench.curves.curves` makes of a report: its name, what is swept, the value of the other setting, points, AUP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..tasks import registry
from .axes import named, spread, stacked, step
from .figure import GREY, Figure, Plain, figure, plot, sentences
from .lanes import ACCENTS, TITLES, shortened

NAMES = {"over_k": "LoPA over k, τ = {:g}", "baseline": f"{TITLES['confidence']}, k = {{:g}}", "lopa": "LoPA, k = {:g}"}
ROLES = {"over_k": "lopa", "baseline": "baseline", "lopa": "lopa"}
SYMBOLS = {"over_k": "diamond", "baseline": "circle", "lopa": "square"}
DASHES = {"over_k": "solid", "baseline": "dash", "lopa": "dot"}
WORDS = {
    "lookahead": ("More lookahead branches", "At k = 0, in blue, it is confidence decoding."),
    "tau_conf": ("A lower threshold", "Every mask surer than τ is filled: the lower it is, the more at once."),
}
BEHIND = "Grey is the recorded run."
AXES = {"lookahead": "k, lookahead branches", "tau_conf": "τ, threshold of confidence"}
PANELS, PLANE = 480, 440  # px
LONGEST_MODEL = 60  # characters of its name
AUP = "AUP: d3LLM's area under a curve (arXiv 2601.07568), which heeds accuracy lost against the best point here."
HEAD = ["Curve", "k", "τ", "Right % (95 %)", "TPF", "Passes", "Branch-forwards", "Seconds", "Tokens/s"]
Curve = Mapping[str, Any]
Point = Mapping[str, Any]


def scaling_figures(curves: Sequence[Curve], told: str = "", behind: Sequence[Curve] = ()) -> dict[str, Figure]:
    """Over k, over tau_conf, and accuracy against TPF; without those that nothing was planned for.

    told: more for the captions, such as where it was measured; behind: an earlier run's curves, in grey behind the same ones.
    """
    behind = [each for each in behind if any((each["name"], each["fixed"]) == (own["name"], own["fixed"]) for own in curves)]
    drawn = {}
    for swept, name in (("lookahead", "scaling-k"), ("tau_conf", "scaling-tau")):
        own = [curve for curve in curves if curve["swept"] == swept]
        if own:
            drawn[name] = panels_figure(own, [each for each in behind if each["swept"] == swept], told)
    return drawn | {"scaling-plane": plane_figure(curves, behind, told)}


def about(report: Mapping[str, Any]) -> str:
    """What was measured where, and when."""
    task, day = registry.title(report["task"]), report["recorded"][:10]
    return f"{report['problems']} held-out {task}, {shortened(report['model'], LONGEST_MODEL)}, {report['hardware']}, {day}."


def panels_figure(curves: Sequence[Curve], behind: Sequence[Curve], told: str) -> Figure:
    """TPF above accuracy, over what the curves sweep."""
    title, caption = WORDS[curves[0]["swept"]]
    text = sentences([caption, "Shades are 95 % intervals.", BEHIND if behind else "", told])
    return figure(title, text, sentences([*map(summary, curves)]), table(curves), **{"pass": panels(curves, behind)})


def panels(curves: Sequence[Curve], behind: Sequence[Curve]) -> Plain:
    swept = curves[0]["swept"]
    upper, lower = stacked([1, 1], PANELS)
    axes = {
        "xaxis": {"title": named(AXES[swept]), "anchor": "y2", "zeroline": False} | ticks(curves, swept),
        "yaxis": {"title": named("tokens per pass"), "domain": upper, "zeroline": False, "nticks": 6},
        "yaxis2": {"title": named("problems solved, %"), "domain": lower, "zeroline": False, "nticks": 6},
    }  # fmt: skip
    data = [each for curve in behind for each in pale(curve, swept)]
    data += [band(curve, swept) for curve in curves]
    for curve in curves:
        data += [line(curve, swept, "tpf"), line(curve, swept, "accuracy") | {"yaxis": "y2", "showlegend": False}]
    return plot(data, axes, [], height=PANELS)


def ticks(curves: Sequence[Curve], swept: str) -> Plain:
    """The axis of all values that are planned, so that it stays while points come; whole numbers under a count of branches."""
    values = [value for curve in curves for value in curve["values"]]
    low, high = spread(values)
    air = 0.03 * (high - low)
    whole = {"tick0": 0, "dtick": step(high)} if swept == "lookahead" else {"nticks": 6}
    return whole | {"range": [low - air, high + air]}


def line(curve: Curve, x: str, y: str) -> Plain:
    """One curve, told apart from others by colour, dash and mark."""
    name, points = curve["name"], curve["points"]
    accent = ACCENTS[ROLES[name]]
    # without branches LoPA is the baseline
    marks = [ACCENTS["baseline"] if point["lookahead"] == 0 else accent for point in points]
    return {
        "type": "scatter", "mode": "lines+markers", "name": title(curve), "x": [point[x] for point in points],
        "y": [round(point[y], 3) for point in points], "text": [worded(point) for point in points],
        "hovertemplate": "%{text}<extra></extra>", "line": {"color": accent, "width": 2.5, "dash": DASHES[name]},
        "marker": {"symbol": SYMBOLS[name], "size": 8, "color": marks}, "showlegend": True,
    }  # fmt: skip


def band(curve: Curve, swept: str) -> Plain:
    """The intervals of a curve's accuracies; that of a single point is a stroke."""
    points, accent = curve["points"], ACCENTS[ROLES[curve["name"]]]
    edge = [(point[swept], point["accuracy_high"]) for point in points]
    edge += [(point[swept], point["accuracy_low"]) for point in reversed(points)]
    return {
        "type": "scatter", "mode": "lines", "name": "95 % interval", "x": [x for x, _ in edge], "y": [round(y, 2) for _, y in edge],
        "yaxis": "y2", "fill": "toself", "fillcolor": clear(accent, 0.13), "line": {"color": clear(accent, 0.3), "width": 1},
        "hoverinfo": "skip", "showlegend": False,
    }  # fmt: skip


def pale(curve: Curve, swept: str) -> list[Plain]:
    """An earlier run's curve in both panels."""
    return [line(curve, swept, "tpf") | look(curve), line(curve, swept, "accuracy") | look(curve) | {"yaxis": "y2"}]


def look(curve: Curve) -> Plain:
    return {"mode": "lines", "line": {"color": GREY, "width": 1.5, "dash": DASHES[curve["name"]]}, "showlegend": False}


def clear(colour: str, opacity: float) -> str:
    """#rrggbb with an opacity."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def plane_figure(curves: Sequence[Curve], behind: Sequence[Curve], told: str) -> Figure:
    """Accuracy against TPF."""
    data = [line(curve, "tpf", "accuracy") | look(curve) for curve in behind]
    data += [line(curve, "tpf", "accuracy") | {"name": f"{title(curve)}: AUP {curve['aup']:.0f}"} for curve in curves]
    axes = {
        "xaxis": {"title": named("tokens per pass (TPF)"), "zeroline": False, "nticks": 8},
        "yaxis": {"title": named("problems solved, %"), "zeroline": False, "nticks": 7},
    }
    scores = [f"{title(curve)}: AUP {curve['aup']:.0f}." for curve in curves]
    caption = sentences(["Further right and higher is better.", AUP, BEHIND if behind else "", told])
    return figure("What speed costs", caption, sentences(scores), table(curves), **{"pass": plot(data, axes, [], height=PLANE)})


def title(curve: Curve) -> str:
    return NAMES[curve["name"]].format(curve["fixed"])


def summary(curve: Curve) -> str:
    """From one end of a curve to the other."""
    points = curve["points"]
    if not points:
        return f"{title(curve)}: no point yet."
    first, last = points[0], points[-1]
    ends = f"from {first[curve['swept']]:g} to {last[curve['swept']]:g}"
    tpf, accuracy = (f"{first[name]:.{digits}f} to {last[name]:.{digits}f}" for name, digits in (("tpf", 2), ("accuracy", 1)))
    return f"{title(curve)}, {ends}: TPF {tpf}, accuracy {accuracy} %."


def worded(point: Point) -> str:
    """All numbers of a point, under the pointer."""
    count = point["problems"]
    passes, rows, seconds = (point[name] / count for name in ("rounds", "branch_forwards", "seconds"))
    return (
        f"<b>k = {point['lookahead']}, τ = {point['tau_conf']:g}</b><br>TPF {point['tpf']:.2f}<br>"
        f"{point['right']} of {count} right: {interval(point)} %<br>per problem: {passes:.1f} passes, {rows:.1f} rows, {seconds:.3f} s<br>"
        f"{point['tokens_per_second']:.0f} tokens a second"
    )


def interval(point: Point) -> str:
    return f"{point['accuracy']:.1f} ({point['accuracy_low']:.1f} to {point['accuracy_high']:.1f})"


def table(curves: Sequence[Curve]) -> Plain:
    """One row per point of every curve; counts and seconds per problem."""
    rows = []
    for curve in curves:
        for point in curve["points"]:
            passes, forwards = (f"{point[name] / point['problems']:.1f}" for name in ("rounds", "branch_forwards"))
            speed = [f"{point['seconds'] / point['problems']:.3f}", f"{point['tokens_per_second']:.0f}"]
            place = [title(curve), str(point["lookahead"]), f"{point['tau_conf']:g}"]
            rows.append([*place, interval(point), f"{point['tpf']:.2f}", passes, forwards, *speed])
    return {"head": HEAD, "rows": rows}
