"""The chart of accuracy against cost, on numbers made up."""

from __future__ import annotations

from lopa_core.view.pareto import front, pareto_figure, pareto_figures


def row(decoder: str, accuracy: float, rounds: int, seconds: float = 1.0) -> dict:
    interval = {"accuracy": accuracy, "accuracy_low": accuracy - 2, "accuracy_high": min(accuracy + 1, 100.0)}
    counts = {"rounds": rounds, "branch_forwards": rounds, "extra_tokens": 0, "seconds": seconds, "tpf": 2.0}
    return {"decoder": decoder, "problems": 10} | interval | counts


ROWS = [row("vanilla", 95, 400, 3.0), row("confidence", 93, 100, 1.0), row("lopa", 90, 60, 2.0), row("<b>worse", 80, 120, 0.5)]


def test_the_front_is_what_no_other_beats_on_both():
    assert front(ROWS, "rounds") == [2, 1, 0]
    assert front(ROWS, "seconds") == [3, 1, 0]
    assert front([*ROWS, row("same", 90, 60, 2.0)], "rounds") == [2, 1, 0]  # of equals the first
    assert front([], "rounds") == []


def test_both_planes_show_every_decoder_with_its_interval():
    assert list(pareto_figures(ROWS, "")) == ["pareto-rounds", "pareto-seconds"]
    drawn = pareto_figure(ROWS, "On a machine.", "rounds")
    line, points = drawn["plots"]["pass"]["data"]
    assert points["x"] == [40.0, 10.0, 6.0, 12.0] and points["y"] == [95, 93, 90, 80]
    assert points["error_y"]["array"] == [1, 1, 1, 1] and points["error_y"]["arrayminus"] == [2, 2, 2, 2]
    assert line["x"] == [6.0, 10.0, 40.0]
    low, high = drawn["plots"]["pass"]["layout"]["xaxis"]["range"]
    assert 10**low < 6 * 0.9 and 10**high > 40 * 1.05  # room for names
    assert points["text"] == ["One token per pass", "Confidence decoding", "LoPA", ""]  # worse is beaten, and no landmark
    assert points["customdata"][3] == "&lt;b&gt;worse"
    assert "On a machine." in drawn["caption"] and "LoPA (6)" in drawn["summary"]
    assert drawn["table"]["rows"][2][:3] == ["LoPA", "90.0 (88.0 to 91.0)", "2.00"]


def test_nothing_measured_is_an_empty_chart():
    drawn = pareto_figure([], "On a machine.", "seconds")
    assert drawn["table"]["rows"] == [] and drawn["plots"]["pass"]["data"][1]["x"] == []
