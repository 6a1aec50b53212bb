"""The two figures are pure functions of traces: plain lists, right counts, escaped text, nothing lost when empty."""

import json
from dataclasses import replace

import plotly.graph_objects as go
import pytest

from lopa_core.page import charts, tree
from lopa_core.trace.metrics import measure

from .samples import pair


def figure_of(plain):
    """Plotly itself checks every name and value."""
    return go.Figure(data=plain["data"], layout=plain["layout"])


@pytest.mark.parametrize("steps", [0, 1, 5, 1000])
def test_figures_are_valid_plain_json(steps):
    for plain in (charts.tokens_figure(pair(steps)), tree.tree_figure(pair(steps)[1])):
        assert json.loads(json.dumps(plain)) == plain
        figure_of(plain)


def named(plain, name):
    return next(each for each in plain["data"] if each.get("name") == name)


def test_bars_add_up_to_the_slots_written():
    traces = pair()
    for index, trace in enumerate(traces):
        axis = "y" if index == 0 else "y2"
        drawn = sum(sum(bars["y"]) for bars in charts.tokens_figure(traces)["data"] if bars["yaxis"] == axis)
        assert drawn == measure(trace).slots_written


def test_brought_tokens_are_told_apart_by_pattern():
    brought = [bars for bars in charts.tokens_figure(pair())["data"] if bars["name"] == "brought by a lookahead"]
    assert len(brought) == 1 and brought[0]["marker"]["pattern"]["shape"]
    assert sum(brought[0]["y"]) == sum(each.brought is not None for each in pair()[1].rounds) > 0


def test_both_panels_share_their_scale():
    layout = charts.tokens_figure(pair())["layout"]
    assert layout["yaxis"]["range"] == layout["yaxis2"]["range"]
    assert layout["yaxis2"]["domain"][0] == pytest.approx(0) and layout["yaxis"]["domain"][1] == 1


def test_every_branch_is_one_node_and_anchors_sit_at_zero():
    trace = pair()[1]
    anchors, lookaheads = (named(tree.tree_figure(trace), name) for name in ("anchor", "lookahead"))
    assert len(anchors["x"]) + len(lookaheads["x"]) == measure(trace).branch_forwards
    assert set(anchors["y"]) == {0} and min(lookaheads["y"]) == 1
    assert anchors["marker"]["symbol"] != lookaheads["marker"]["symbol"]


def test_bold_path_joins_the_winners_and_edges_leave_them():
    trace = pair()[1]
    edges, path = tree.tree_figure(trace)["data"][:2]
    winners = [0 if each.brought is None else each.winner + 1 for each in trace.rounds]
    assert path["y"] == winners and path["line"]["width"] > edges["line"]["width"]
    starts = list(zip(edges["x"][::3], edges["y"][::3]))
    assert all(y == winners[x - 1] for x, y in starts)
    assert len(starts) == sum(len(each.branches) for each in trace.rounds[1:])


def test_text_of_the_model_is_escaped_where_plotly_reads_html():
    trace = pair()[1]
    hostile = replace(trace, pieces={token: "<img src=x onerror=1>" for token in trace.pieces})
    lookaheads = named(tree.tree_figure(hostile), "lookahead")
    assert all("<img" not in text and "&lt;img" in text for text in lookaheads["text"])


def test_each_figure_has_a_text_alternative():
    traces = pair()
    for summary in (charts.tokens_summary(traces), tree.tree_summary(traces[1])):
        assert str(len(traces[1].rounds)) in summary
    assert len(charts.tokens_table(traces)["rows"]) == max(len(trace.rounds) for trace in traces)
    choices = tree.tree_table(traces[1])["rows"]
    assert len(choices) == len(traces[1].rounds) and all(len(row) == 5 for row in choices)
