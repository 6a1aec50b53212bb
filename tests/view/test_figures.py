"""Every figure is plain data that Plotly takes, says the same in words, points its cursors at real axes, and stays small."""

import json
import time
from dataclasses import replace

import plotly.graph_objects as go
import pytest

from lopa_core.trace.metrics import measure
from lopa_core.view.axes import beside, stacked, step
from lopa_core.view.figures import figures
from lopa_core.view.lanes import ACCENTS, lanes, roles, titles

from .samples import large, on_devices, pair, trio, version1

HOSTILE = "<img src=x onerror=alert(1)>"
SETS = {
    "nothing yet": lambda: pair(0), "one pass": lambda: pair(1), "five passes": lambda: pair(5), "whole": pair, "three lanes": trio,
    "LoPA alone": lambda: pair()[1:], "baseline alone": lambda: pair()[:1], "from version 1": lambda: [version1(each) for each in pair()],
    "on devices": lambda: [pair()[0], on_devices(pair()[1], 3)], "large": large,
}  # fmt: skip


def plots(drawn):
    return [plot for each in drawn.values() for plot in each["plots"].values()]


@pytest.mark.parametrize("name", SETS)
def test_figures_are_plain_json_that_plotly_takes(name):
    drawn = figures(SETS[name]())
    assert json.loads(json.dumps(drawn, allow_nan=False)) == drawn
    for each in drawn.values():
        assert each["title"] and each["caption"].endswith(".") and each["summary"].endswith(".")
        assert all(len(row) == len(each["table"]["head"]) and all(isinstance(cell, str) for cell in row) for row in each["table"]["rows"])
    for plot in plots(drawn):
        go.Figure(plot)  # checks every name and value
        assert plot["layout"]["height"] >= 100 and "template" not in plot["layout"]


@pytest.mark.parametrize("name", SETS)
def test_cursors_point_at_axes_that_are_drawn_and_at_their_own_lane(name):
    traces = SETS[name]()
    for plot in plots(figures(traces)):
        used = {(each.get("xaxis", "x"), each.get("yaxis", "y")) for each in plot["data"]}
        for cursor in plot["layout"]["meta"]["cursors"]:
            assert (cursor["x"], cursor["y"]) in used and cursor["unit"] in ("pass", "seconds")
            assert cursor["lane"] is None or 0 <= cursor["lane"] < len(traces)
            if cursor["lane"] is not None:
                colours = json.dumps([each for each in plot["data"] if each.get("yaxis", "y") == cursor["y"]])
                assert lanes(traces)[cursor["lane"]].accent in colours


def test_figures_come_in_the_order_of_the_page_and_only_where_there_is_something_to_show():
    assert list(figures(pair())) == ["tokens", "progress", "tree-1", "filling", "confidence", "devices"]
    assert list(figures(trio())) == ["tokens", "progress", "tree-1", "tree-2", "filling", "confidence", "devices"]
    assert list(figures(pair()[:1])) == ["tokens", "progress", "filling", "devices"]
    assert "devices" not in figures([version1(each) for each in pair()])
    assert "devices" not in figures(pair(0)) and "tree-1" in figures(pair(0))


def test_only_progress_depends_on_the_clock():
    drawn = figures(pair())
    assert {name for name, each in drawn.items() if "time" in each["plots"]} == {"progress"}
    assert [each["plots"]["time"]["layout"]["meta"]["cursors"][0] for each in [drawn["progress"]]] == [
        {"x": "x", "y": "y", "lane": None, "unit": "seconds"}
    ]
    assert {cursor["unit"] for cursor in drawn["devices"]["plots"]["pass"]["layout"]["meta"]["cursors"]} == {"seconds"}


def test_colours_are_left_to_the_browser():
    for plot in plots(figures(trio())):
        layout = json.dumps({key: value for key, value in plot["layout"].items() if key not in ("shapes", "coloraxis", "annotations")})
        assert '"color"' not in layout and "bgcolor" not in layout


def test_text_of_models_and_files_is_escaped_where_plotly_reads_html():
    traces = [replace(trace, pieces={token: HOSTILE for token in trace.pieces}, devices=(HOSTILE,)) for trace in pair()]
    drawn = figures([replace(traces[0], decoder=HOSTILE), traces[1]])
    text = json.dumps([each["plots"] for each in drawn.values()])
    assert "<img" not in text and text.count("&lt;img") > 20
    assert HOSTILE in json.dumps([each["table"] for each in drawn.values()])  # tables are set as text, not as HTML


@pytest.mark.parametrize(
    ("name", "most"), [("tokens", 40), ("progress", 60), ("tree-1", 400), ("filling", 300), ("confidence", 80), ("devices", 90)]
)
def test_a_long_decode_stays_small(name, most):
    assert len(large()[1].rounds) > 150 and measure(large()[1]).tokens == 512
    assert len(json.dumps(figures(large())[name], separators=(",", ":"))) < most * 1000


def test_a_long_decode_is_drawn_quickly_and_in_few_parts():
    traces, began = large(), time.thread_time()
    drawn = figures(traces)
    assert time.thread_time() - began < 1  # 0.1 s of a processor; what else runs on the machine is not counted
    assert len(drawn["tree-1"]["plots"]["pass"]["data"]) == 4


def test_roles_and_titles():
    base, lopa, what_if = trio()
    paper, own = replace(lopa, decoder="lopa-paper"), replace(base, decoder="x" * 100)
    assert roles([base, lopa, what_if, paper, own]) == ["baseline", "lopa", "whatif", "other", "other"]
    assert roles([lopa, base, lopa]) == ["lopa", "baseline", "other"]
    assert titles([base, lopa, what_if, what_if, lopa]) == ["Confidence decoding", "LoPA", "What if", "What if 2", "LoPA 2"]
    assert titles([own])[0].startswith("xxx") and len(titles([own])[0]) < 30
    assert len(set(ACCENTS.values())) == 4


def test_panels_lie_beside_and_above_each_other_without_overlap():
    for domains in (beside(3), stacked([1, 2, 1], 500)[::-1]):
        assert domains[0][0] == pytest.approx(0, abs=1e-5) and domains[-1][1] == 1
        assert all(low < high for low, high in domains) and all(one[1] < two[0] for one, two in zip(domains, domains[1:]))
    one, two, _ = stacked([1, 2, 1], 500)
    assert two[1] - two[0] == pytest.approx(2 * (one[1] - one[0]), abs=1e-5)


@pytest.mark.parametrize(("highest", "expected"), [(0, 1), (8, 1), (9, 2), (17, 5), (80, 10), (81, 20), (438, 100), (8400, 2000)])
def test_ticks_stand_at_round_numbers(highest, expected):
    assert step(highest) == expected
