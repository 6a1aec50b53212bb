"""A sweep measures every point once, is the same in two sittings as in one, and refuses another sweep's report."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lopa_core.bench import accuracy, sweep_file
from lopa_core.bench.curves import curves
from lopa_core.bench.files import ReportError, save
from lopa_core.bench.sweep import DECODE, POINT, Plan
from lopa_core.decode.settings import DecodeSettings, SettingsError
from lopa_core.tasks.word_problems import problems

from .samples import model, report, sweep, untimed


def test_points_where_curves_meet_are_measured_once():
    plan = Plan(base=DecodeSettings(lookahead=7, tau_conf=0.9), lookaheads=(7, 0, 3), taus=(0.9, 0.5))
    assert plan.points == [(0, 0.9), (3, 0.9), (7, 0.9), (0, 0.5), (7, 0.5)]
    assert plan.settings((3, 0.9)).lookahead == 3 and plan.settings((0, 0.5)).tau_conf == 0.5


@pytest.mark.parametrize(
    ("axes", "words"),
    [({}, "at least one"), ({"lookaheads": (65,)}, "lookahead must be"), ({"taus": (1.5,)}, "tau_conf must lie"),
     ({"taus": (float("nan"),)}, "tau_conf must lie")],
)  # fmt: skip
def test_a_plan_that_cannot_be_is_one_sentence(axes, words):
    with pytest.raises(SettingsError, match=words):
        Plan(base=DecodeSettings(), **axes)


def test_a_point_is_what_a_benchmark_of_its_decoders_measures():
    base = DecodeSettings(**model().source.settings | {"max_new_tokens": 64, "lookahead": 3})
    lanes = {"confidence": base.decoder("confidence"), "lopa": replace(base, tau_conf=0.5)}
    told = {(point["lookahead"], point["tau_conf"]): point for point in report()["points"]}
    for result, point in zip(accuracy.run(model(), list(problems(2, split="test")), lanes), ((0, 0.9), (3, 0.5))):
        expected = result.as_dict()
        for name in ("problems", "accuracy", "accuracy_low", "accuracy_high", "tpf", "rounds", "branch_forwards", "tokens"):
            assert told[point][name] == expected[name], name
        assert told[point]["right"] == result.right


def test_interrupted_and_resumed_it_is_the_same_as_in_one_sitting():
    first, seen = sweep(), []
    for ended in first.run():
        seen.append(ended)
        if seen.count(POINT) == 2 and seen[-1] == DECODE:
            break  # in the middle of the third point
    broken_off = json.loads(json.dumps(first.report()))
    assert len(broken_off["points"]) == 2
    second = sweep(before=broken_off)
    assert second.decodes_left == 2 * (len(second.plan.points) - 2)
    assert list(second.run()).count(POINT) == len(second.plan.points) - 2
    assert untimed(second.report()) == untimed(report()) and not second.missing
    kept = {(point["lookahead"], point["tau_conf"]): point for point in second.report()["points"]}
    assert all(kept[point["lookahead"], point["tau_conf"]] == point for point in broken_off["points"])  # to the last second


def test_another_axis_joins_what_is_there():
    over_k = sweep(lookaheads=(0, 2))
    for _ in over_k.run():
        pass
    both = sweep(before=json.loads(json.dumps(over_k.report())), taus=(0.5, 0.9))
    for _ in both.run():
        pass
    assert untimed(both.report()) == untimed(report())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"count": 3}, "its problems is 2, not 3"), ({"seed": 5}, "its seed is 0, not 5"), ({"task": "lists"}, "its task is 'word-prob"),
        ({"tau_add": 0.3}, "its tau add is 0.1, not 0.3"), ({"lookahead": 2}, "its lookahead is 3, not 2"),
    ],
)  # fmt: skip
def test_another_sweeps_report_is_refused(changes, words):
    with pytest.raises(ReportError, match=f"^This report cannot be gone on with: {words}.*--resume.$"):
        sweep(before=report(), **changes)


@pytest.mark.parametrize("name", ["model", "hardware", "commit"])
def test_a_report_of_another_model_or_machine_is_refused(name):
    with pytest.raises(ReportError, match=f"its {name} is 'another'"):
        sweep(before=report() | {name: "another"})


def test_curves_are_lines_through_the_points():
    told = {curve["name"]: curve for curve in curves(report())}
    assert list(told) == ["over_k", "baseline", "lopa"]
    assert [point["lookahead"] for point in told["over_k"]["points"]] == [0, 2]
    assert [(point["lookahead"], point["tau_conf"]) for point in told["lopa"]["points"]] == [(3, 0.5), (3, 0.9)]
    assert {name: curve["aup"] for name, curve in told.items()} == report()["aup"] and min(report()["aup"].values()) > 0
    alone = report() | {"taus": []}
    assert [curve["name"] for curve in curves(alone)] == ["over_k"]


def test_a_report_survives_its_file(tmp_path):
    save(report(), tmp_path / "sweep.json")
    assert sweep_file.read(tmp_path / "sweep.json") == report() and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda told: told.update(version=2), lambda told: told.update(format="lopa-bench"), lambda told: told.pop("model"),
        lambda told: told.update(hardware="x" * 1000), lambda told: told.update(seed=None), lambda told: told.update(problems=0),
        lambda told: told.update(settings=[]), lambda told: told["settings"].update(tau_conf="high"), lambda told: told.update(taus=[2]),
        lambda told: told.update(lookaheads=5), lambda told: told.update(points={}), lambda told: told["points"].append(7),
        lambda told: told["points"].append(told["points"][0]), lambda told: told["points"][0].pop("tpf"),
        lambda told: told["points"][1].update(rounds=-1), lambda told: told["points"][1].update(seconds=float("nan")),
        lambda told: told["points"][0].update(right=3), lambda told: told["points"][0].update(problems=9),
        lambda told: told["points"][0].update(lookahead=0.5), lambda told: told["points"][0].update(accuracy=True),
        lambda told: told["points"][0].update(accuracy=100, accuracy_high=50.0),
    ],
)  # fmt: skip
def test_a_damaged_report_is_one_sentence(tmp_path, damage):
    told = report()
    damage(told)
    (tmp_path / "sweep.json").write_text(json.dumps(told))
    with pytest.raises(ReportError, match=r"^sweep.json is [^\n]*\.$|^sweep.json is no [^\n]*$"):
        sweep_file.read(tmp_path / "sweep.json")


def test_a_report_is_written_whole_or_not_at_all(tmp_path):
    save(report(), tmp_path / "sweep.json")
    with pytest.raises(TypeError):
        save({"points": object()}, tmp_path / "sweep.json")
    assert sweep_file.read(tmp_path / "sweep.json") == report() and len(list(tmp_path.iterdir())) == 1
