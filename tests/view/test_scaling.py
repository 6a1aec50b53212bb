"""The scaling figures draw every point once, keep their axes while points come, and are plain data that Plotly takes."""

from __future__ import annotations

import copy

import plotly.graph_objects as go
import pytest

from lopa_core.bench.curves import curves
from lopa_core.view.lanes import ACCENTS
from lopa_core.view.replay import figures_html
from lopa_core.view.scaling import about, scaling_figures

LOOKAHEADS, TAUS = [0, 1, 7], [0.5, 0.9]


def point(k, tau, tpf, right):
    return {
        "lookahead": k, "tau_conf": tau, "problems": 10, "right": right, "accuracy": 10.0 * right, "accuracy_low": 10.0 * right - 15,
        "accuracy_high": min(100.0, 10.0 * right + 15), "tpf": tpf, "rounds": 90, "branch_forwards": 90 * (k + 1), "tokens": 400,
        "seconds": 2.0, "tokens_per_second": 200.0,
    }  # fmt: skip


def report(**changes):
    points = [point(0, 0.9, 4.0, 9), point(1, 0.9, 5.0, 9), point(7, 0.9, 6.0, 8), point(0, 0.5, 8.0, 7), point(7, 0.5, 8.5, 7)]
    told = {
        "task": "word-problems", "model": "lopa-tiny", "hardware": "a <b>machine</b>", "recorded": "2026-12-01T10:00:00+00:00",
        "problems": 10, "settings": {"tau_conf": 0.9, "lookahead": 7}, "lookaheads": LOOKAHEADS, "taus": TAUS, "points": points,
    }  # fmt: skip
    return told | changes


def figures(told=None, **more):
    return scaling_figures(curves(told or report()), **more)


def drawn(figure, mode="lines+markers"):
    return [each for each in figure["plots"]["pass"]["data"] if each["mode"] == mode]


def layout(figure):
    return figure["plots"]["pass"]["layout"]


def test_over_k_tpf_stands_above_accuracy_on_one_axis():
    figure = figures()["scaling-k"]
    tpf, accuracy = drawn(figure)
    assert tpf["x"] == accuracy["x"] == LOOKAHEADS and tpf["y"] == [4.0, 5.0, 6.0] and accuracy["y"] == [90.0, 90.0, 80.0]
    axes = layout(figure)
    assert axes["yaxis"]["domain"][0] > axes["yaxis2"]["domain"][1] and axes["xaxis"]["anchor"] == "y2" and "xaxis2" not in axes
    assert accuracy["yaxis"] == "y2" and "overlaying" not in str(axes)
    (band,) = drawn(figure, "lines")
    assert band["x"] == [*LOOKAHEADS, *LOOKAHEADS[::-1]] and band["y"] == [100.0, 100.0, 95.0, 65.0, 75.0, 75.0]


def test_the_point_without_branches_is_the_baseline():
    tpf, _ = drawn(figures()["scaling-k"])
    assert tpf["marker"]["color"] == [ACCENTS["baseline"], ACCENTS["lopa"], ACCENTS["lopa"]]


def test_over_tau_there_are_two_lines_told_apart_by_more_than_colour():
    lines = [each for each in drawn(figures()["scaling-tau"]) if each.get("yaxis") != "y2"]
    assert [(each["name"], each["x"], each["y"]) for each in lines] == [
        ("Confidence decoding, k = 0", TAUS, [8.0, 4.0]), ("LoPA, k = 7", TAUS, [8.5, 6.0]),
    ]  # fmt: skip
    assert len({each["line"]["dash"] for each in lines}) == len({each["marker"]["symbol"] for each in lines}) == 2


def test_accuracy_against_tpf_has_a_curve_each_with_its_area():
    told = curves(report())
    lines = drawn(figures()["scaling-plane"])
    assert [(each["x"], each["y"]) for each in lines] == [
        ([point["tpf"] for point in curve["points"]], [point["accuracy"] for point in curve["points"]]) for curve in told
    ]
    assert all(f"AUP {curve['aup']:.0f}" in each["name"] for each, curve in zip(lines, told))


def test_all_numbers_are_under_the_pointer_and_in_the_table():
    for figure in figures().values():
        for each in drawn(figure):
            assert len(each["text"]) == len(each["x"])
    text = drawn(figures()["scaling-k"])[0]["text"][2]
    for number in (
        "k = 7",
        "τ = 0.9",
        "TPF 6.00",
        "8 of 10 right",
        "80.0 (65.0 to 95.0)",
        "9.0 passes",
        "72.0 rows",
        "0.200 s",
        "200 tokens",
    ):
        assert number in text
    assert len(figures()["scaling-k"]["table"]["rows"]) == 3 and len(figures()["scaling-plane"]["table"]["rows"]) == 7
    assert figures()["scaling-k"]["table"]["rows"][2][1:] == ["7", "0.9", "80.0 (65.0 to 95.0)", "6.00", "9.0", "72.0", "0.200", "200"]


@pytest.mark.parametrize("known", range(6))
def test_axes_stay_while_points_come(known):
    told = report(points=report()["points"][:known])
    for name, whole in figures().items():
        growing = figures(told)[name]
        assert layout(growing)["xaxis"].get("range") == layout(whole)["xaxis"].get("range")
        assert len(growing["plots"]["pass"]["data"]) == len(whole["plots"]["pass"]["data"])


@pytest.mark.parametrize(
    ("axes", "names"), [({"taus": []}, ["scaling-k", "scaling-plane"]), ({"lookaheads": []}, ["scaling-tau", "scaling-plane"])]
)
def test_what_was_not_planned_has_no_figure(axes, names):
    assert list(figures(report(**axes))) == names


def test_an_earlier_run_is_grey_behind_the_same_curve_only():
    now = report(taus=[], points=report()["points"][:1])
    behind = figures(now, behind=curves(report()))
    assert len(drawn(behind["scaling-k"], "lines")) == 3 and len(drawn(behind["scaling-plane"], "lines")) == 1
    assert "Grey is the recorded run." in behind["scaling-k"]["caption"]
    elsewhere = figures(report(taus=[], settings={"tau_conf": 0.5, "lookahead": 7}), behind=curves(report()))
    assert "Grey" not in elsewhere["scaling-k"]["caption"] and not drawn(elsewhere["scaling-plane"], "lines")


def test_plotly_takes_them_and_a_report_is_left_as_it_is():
    told = report()
    before = copy.deepcopy(told)
    for figure in figures(told).values():
        plot = figure["plots"]["pass"]
        go.Figure(plot["data"], plot["layout"])
    assert told == before


def test_the_file_holds_everything_and_names_are_text():
    page = figures_html("Curves", about(report()), figures())
    assert page.startswith("<!doctype html>") and "a &lt;b&gt;machine&lt;/b&gt;, 2026-12-01" in page and "<b>machine" not in page
    assert "//cdn" not in page and "{{" not in page.partition("<script")[0]
