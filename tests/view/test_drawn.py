"""What the figures draw is what the traces hold: counts add up, every branch is one node, every slot one mark."""

from base64 import b64decode
from dataclasses import replace

import pytest

from lopa_core.trace.metrics import measure, progress
from lopa_core.view import heat
from lopa_core.view.confidence import confidence_figure
from lopa_core.view.devices import devices_figure, idle, rows_words
from lopa_core.view.filling import filling_figure
from lopa_core.view.lanes import ACCENTS
from lopa_core.view.marks import BROUGHT, FILLED
from lopa_core.view.progress import progress_figure
from lopa_core.view.tokens import tokens_figure
from lopa_core.view.tree import tree_figure

from .samples import large, on_devices, pair, trio


def data(figure, clock="pass"):
    return figure["plots"][clock]["data"]


def layout(figure):
    return figure["plots"]["pass"]["layout"]


def named(figure, name):
    return [each for each in data(figure) if each.get("name") == name]


# ---- tokens and progress


def test_bars_add_up_to_the_slots_written():
    for index, trace in enumerate(trio()):
        axis = "y" if index == 0 else f"y{index + 1}"
        drawn = sum(sum(bars["y"]) for bars in data(tokens_figure(trio())) if bars["yaxis"] == axis)
        assert drawn == measure(trace).slots_written


def test_brought_tokens_are_told_apart_by_pattern_and_named_once():
    brought = named(tokens_figure(trio()), BROUGHT)
    assert len(brought) == 2 and all(bars["marker"]["pattern"]["shape"] for bars in brought)
    assert [bars["showlegend"] for bars in brought] == [True, False]
    for bars, trace in zip(brought, trio()[1:]):
        assert sum(bars["y"]) == sum(each.brought is not None for each in trace.rounds) > 0


def test_panels_of_bars_share_their_scale():
    drawn = layout(tokens_figure(trio()))
    assert drawn["yaxis"]["range"] == drawn["yaxis2"]["range"] == drawn["yaxis3"]["range"]
    assert drawn["yaxis3"]["domain"][0] == pytest.approx(0, abs=1e-4) and drawn["yaxis"]["domain"][1] == 1


def test_lines_are_the_metrics_progress_and_begin_with_nothing():
    figure = progress_figure(pair())
    for trace, passes, times in zip(pair(), data(figure), data(figure, "time")):
        told = progress(trace)
        assert passes["x"] == list(range(len(told) + 1)) and passes["y"] == [0, *(tokens for tokens, _ in told)] == times["y"]
        assert times["x"] == [0, *(seconds for _, seconds in told)]


def test_lines_differ_by_more_than_colour():
    lines = data(progress_figure(trio()))
    assert len({each["line"]["dash"] for each in lines}) == len({each["marker"]["symbol"] for each in lines}) == 3
    assert [each["line"]["color"] for each in lines] == [ACCENTS[role] for role in ("baseline", "lopa", "whatif")]


# ---- filling order


def unpacked(z):
    """A heat map's matrix with None for blanks."""
    if isinstance(z, list):
        return z
    height, width = map(int, z["shape"].split(","))
    flat = b64decode(z["bdata"])
    assert z["dtype"] == "u1" and len(flat) == height * width
    return [[value or None for value in flat[row * width : (row + 1) * width]] for row in range(height)]


def shades(figure, axis="x"):
    """{(slot, pass): percent} of one panel, both from 1."""
    told = {}
    for each in data(figure):
        if each["type"] == "heatmap" and each["xaxis"] == axis:
            for row, line in enumerate(unpacked(each["z"])):
                told |= {(each["y0"] + row, each["x0"] + column): value for column, value in enumerate(line) if value is not None}
    return told


def seen(trace):
    return {
        (slot + 1, number): min(100, max(1, round(100 * probability)))
        for number, each in enumerate(trace.rounds, 1)
        for slot, probability in zip(each.best.seen.slots, each.best.seen.probabilities)
    }


@pytest.mark.parametrize(("worded", "listed"), [(10**9, 10**9), (0, 10**9), (0, 0)])
def test_shades_are_the_winners_predictions_however_they_are_packed(monkeypatch, worded, listed):
    monkeypatch.setattr(heat, "WORDED", worded)
    monkeypatch.setattr(heat, "LISTED", listed)
    figure = filling_figure(pair())
    for axis, trace in zip(("x", "x2"), pair()):
        assert shades(figure, axis) == seen(trace)


def test_shades_of_a_long_decode():
    assert shades(filling_figure(large()), "x2") == seen(large()[1])


def test_every_written_slot_has_one_mark_of_its_kind():
    figure = filling_figure(trio())
    for axis, trace in zip(("x", "x2", "x3"), trio()):
        points = [each for each in data(figure) if each["type"] == "scatter" and each["xaxis"] == axis]
        drawn = {(slot, number): each["name"] for each in points for slot, number in zip(each["y"], each["x"])}
        assert drawn == {
            (slot + 1, number): BROUGHT if each.brought and slot == each.brought.slot else FILLED
            for number, each in enumerate(trace.rounds, 1)
            for slot, *_ in each.committed
        }
        assert sum(len(each["x"]) for each in points) == measure(trace).slots_written
    symbols = {name: {each["marker"]["symbol"] for each in named(figure, name)} for name in (FILLED, BROUGHT)}
    assert not symbols[FILLED] & symbols[BROUGHT] and symbols[BROUGHT] == {"diamond-open"}


def test_two_panels_share_their_slots_and_three_are_stacked():
    two, three = layout(filling_figure(pair())), layout(filling_figure(trio()))
    assert "yaxis2" not in two and two["xaxis"]["domain"][1] < two["xaxis2"]["domain"][0]
    assert three["yaxis2"]["domain"][1] < three["yaxis"]["domain"][0] and "domain" not in three["xaxis"]
    for axes in (two["yaxis"], three["yaxis3"]):
        assert axes["range"][0] > axes["range"][1] == 0.5  # slot 1 on top


def test_the_text_tells_when_slots_were_written_out_of_order():
    assert "0 of them when a later one" in filling_figure([pair(1)[0]])["summary"]
    rows = filling_figure(pair())["table"]["rows"]
    assert sum("lookahead" in row[2] for row in rows) == sum(each.brought is not None for each in pair()[1].rounds)


# ---- branches


def nodes(figure):
    return [each for each in data(figure) if each["mode"] == "markers"]


def test_every_branch_is_one_node_that_says_which():
    for index in (1, 2):
        trace, both = trio()[index], nodes(tree_figure(trio(), index))
        told = [tuple(place) for each in both for place in each["customdata"]]
        every = [(index, number, branch) for number, each in enumerate(trace.rounds) for branch in range(len(each.branches))]
        assert sorted(told) == every
        for each in both:
            for (_, number, branch), x, y, score in zip(each["customdata"], each["x"], each["y"], each["marker"]["color"]):
                own = trace.rounds[number].branches[branch]
                assert x == number + 1 and y == (0 if own.anchor else branch + 1) and score == own.score
                assert each["name"] == ("anchor" if own.anchor else "lookahead")


def test_anchors_and_lookaheads_differ_by_shape_and_winners_are_ringed():
    anchors, lookaheads = nodes(tree_figure(pair(), 1))
    assert set(anchors["marker"]["symbol"]) == {"circle"} and set(lookaheads["marker"]["symbol"]) == {"diamond"}
    ringed = [
        tuple(place[1:])
        for each in (anchors, lookaheads)
        for place, width in zip(each["customdata"], each["marker"]["line"]["width"])
        if width
    ]
    assert sorted(ringed) == [(number, each.winner) for number, each in enumerate(pair()[1].rounds)]


def test_bold_path_joins_the_winners_and_edges_leave_them():
    trace = pair()[1]
    edges, path = data(tree_figure(pair(), 1))[:2]
    winners = [0 if each.brought is None else each.winner + 1 for each in trace.rounds]
    assert path["y"] == winners and path["line"]["width"] > edges["line"]["width"]
    starts = list(zip(edges["x"][::3], edges["y"][::3]))
    assert all(y == winners[x - 1] for x, y in starts)
    assert len(starts) == sum(len(each.branches) for each in trace.rounds[1:])


def test_a_choice_by_hand_is_a_star_and_named_in_hover_table_and_words():
    ((number, branch),) = trio()[2].forced
    figure = tree_figure(trio(), 2)
    stars = [
        (place[1:], text)
        for each in nodes(figure)
        for place, symbol, text in zip(each["customdata"], each["marker"]["symbol"], each["text"])
        if symbol == "star"
    ]
    assert len(stars) == 1 and stars[0][0] == [number, branch] and "by hand" in stars[0][1]
    assert [index for index, row in enumerate(figure["table"]["rows"]) if "by hand" in row[2]] == [number]
    assert f"In pass {number + 1} " in figure["summary"] and "by hand" in layout(figure)["annotations"][0]["text"]
    assert not layout(tree_figure(trio(), 1))["annotations"]


def test_each_row_of_the_tree_table_is_a_forward_pass():
    trace = pair()[1]
    figure = tree_figure(pair(), 1)
    assert [int(row[1]) for row in figure["table"]["rows"]] == [len(each.branches) for each in trace.rounds]
    assert f"{measure(trace).branch_forwards} branches in {len(trace.rounds)} forward passes" in figure["summary"]


# ---- branch confidence


def test_curves_are_the_scores_of_anchors_and_winners():
    trace = pair()[1]
    (anchor,), (winner,) = named(confidence_figure(pair()), "anchor"), named(confidence_figure(pair()), "winner")
    for number, each in enumerate(trace.rounds):
        for curve, branch in ((anchor, each.branches[-1]), (winner, each.best)):
            assert curve["x"][number] == number + 1
            assert not branch.masks_left or curve["y"][number] == branch.score
    (others,) = named(confidence_figure(pair()), "other lookaheads")
    assert len(others["x"]) == sum(
        not branch.anchor and index != each.winner for each in trace.rounds for index, branch in enumerate(each.branches)
    )


def test_branches_without_masks_stand_on_the_edge_and_not_at_their_score_of_1():
    trace = pair()[1]
    low, high = layout(confidence_figure(pair()))["yaxis"]["range"]
    drawn = [y for each in data(confidence_figure(pair())) for y in each["y"]]
    assert all(low < y < high for y in drawn)
    last = replace(trace.rounds[-1], branches=(replace(trace.rounds[-1].branches[-1], score=1.0, masks_left=0),), winner=0)
    ended = replace(trace, rounds=(*trace.rounds[:-1], last))
    (winner,) = named(confidence_figure([ended]), "winner")
    assert winner["text"][-1] == "no mask left" and winner["y"][-1] == max(winner["y"])
    assert max(winner["y"][:-1]) < winner["y"][-1] < 0.1


def test_no_confidence_without_lookaheads():
    assert confidence_figure(pair()[:1]) is None


# ---- devices


def test_bars_are_the_spans_on_the_lanes_own_clock():
    traces = [pair()[0], on_devices(pair()[1], 3)]
    for trace, bars in zip(traces, data(devices_figure(traces))):
        spans = [span for each in trace.rounds for span in each.spans]
        assert bars["y"] == [span.device + 1 for span in spans]
        assert bars["base"] == pytest.approx([span.start for span in spans], abs=1e-4)
        ends = [base + length for base, length in zip(bars["base"], bars["x"])]
        assert ends == pytest.approx([span.end for span in spans], abs=1e-4) and max(ends) <= measure(trace).seconds + 1e-4


def test_idle_time_is_told_per_device():
    trace = on_devices(pair()[1], 3)
    figure = devices_figure([pair()[0], trace])
    shares = idle(trace)
    assert shares[2] == min(shares) and all(0 <= each <= 1 for each in shares)
    worked = sum(span.end - span.start for each in trace.rounds for span in each.spans if span.device == 0)
    assert shares[0] == pytest.approx(1 - worked / measure(trace).seconds)
    told = [row for row in figure["table"]["rows"] if row[0] == "LoPA"]
    assert [row[3] for row in told] == [f"{each:.0%}" for each in shares]
    assert sum(int(row[5]) for row in told) == measure(trace).branch_forwards
    assert f"LoPA: 3 devices, idle {min(shares):.0%} to {max(shares):.0%} of" in figure["summary"]


def test_lanes_without_device_times_are_left_out_but_keep_their_number():
    bare = replace(pair()[0], rounds=tuple(replace(each, spans=()) for each in pair()[0].rounds))
    figure = devices_figure([bare, pair()[1]])
    assert [cursor["lane"] for cursor in layout(figure)["meta"]["cursors"]] == [1]
    assert layout(figure)["meta"]["cursors"][0]["y"] == "y" and len(data(figure)) == 1
    assert devices_figure([bare]) is None


@pytest.mark.parametrize(("rows", "words"), [((), "no row"), ((2,), "row 3"), ((0, 1, 2), "rows 1 to 3"), ((0, 3), "rows 1, 4")])
def test_rows_in_words(rows, words):
    assert rows_words(rows) == words
