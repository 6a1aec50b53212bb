"""`sweep` as a user types it: its report, an interruption and --resume, the page of figures, and a sentence for bad input."""

from __future__ import annotations

import json

import pytest

from lopa_core.bench import sweep
from lopa_core.bench.sweep_file import read

from ..bench.samples import untimed
from ..helpers.models import MODELS
from .test_cli import call, call_json

SMALL = ["sweep", "--limit", "2", "--max-new-tokens", "32", "--lookahead", "2"]
OVER_K = [*SMALL, "--over", "k", "--lookaheads", "0,1,2"]


def test_everything_has_a_default():
    """So that `sweep` alone measures what the paper's figures show."""
    assert tuple(range(15)) == sweep.LOOKAHEADS and (min(sweep.TAUS), max(sweep.TAUS)) == (0.5, 0.95)


def test_it_prints_a_table_per_curve_and_leaves_a_report(capsys, tmp_path):
    out, page = tmp_path / "sweep.json", tmp_path / "sweep.html"
    code, said, _ = call(capsys, *SMALL, "--lookaheads", "0,1", "--taus", "0.5", "--out", out, "--figure", page)
    told = read(out)
    assert code == 0 and said.count("AUP") == 3 and said.count("\n| ") == 3 + 4
    assert [(each["lookahead"], each["tau_conf"]) for each in told["points"]] == [(0, 0.9), (1, 0.9), (0, 0.5), (2, 0.5)]
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>") and "//cdn" not in page.read_text(encoding="utf-8")


def test_interrupted_it_has_saved_what_was_finished_and_resume_goes_on(capsys, tmp_path, monkeypatch):
    whole = call_json(capsys, *OVER_K)
    out, steps, done = tmp_path / "sweep.json", sweep.steps, []

    def interrupted(*asked):
        for result in steps(*asked):
            if len(done) == 5:
                raise KeyboardInterrupt
            done.extend([] if result is None else [result])
            yield result

    with monkeypatch.context() as patched:
        patched.setattr(sweep, "steps", interrupted)
        assert call(capsys, *OVER_K, "--out", out)[0] == 130
    assert [each["lookahead"] for each in read(out)["points"]] == [0, 1]
    resumed = call_json(capsys, *OVER_K, "--out", out, "--resume")
    assert resumed == read(out) and untimed(resumed) == untimed(whole)
    code, _, err = call(capsys, *OVER_K, "--limit", "3", "--out", out, "--resume")
    assert code == 2 and "its problems is 2, not 3" in err and read(out) == resumed


BAD = {
    "resume of nothing": (["--resume"], "give --out FILE"),
    "lookaheads no numbers": (["--lookaheads", "1,x"], "--lookaheads takes whole numbers"),
    "taus no numbers": (["--taus", ""], "--taus takes numbers"),
    "tau too large": (["--taus", "0.5,1.2"], "tau_conf must lie between 0 and 1, not 1.2."),
    "k too large": (["--lookaheads", "99"], "lookahead must be a whole number from 0 to 64, not 99."),
    "limit": (["--limit", "0"], "--limit"),
    "over": (["--over", "time"], "--over"),
    "picture": (["--figure", "a.png"], "ends in .html"),
    "no folder": (["--out", "/nowhere/sweep.json"], "/nowhere/sweep.json cannot be written"),
    "a folder": (["--out", str(MODELS)], "cannot be written"),
    "no tokenizer": (["--model", str(MODELS / "dream-a")], "has no tokenizer"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, name):
    flags, words = BAD[name]
    code, out, err = call(capsys, "sweep", *flags)
    assert code == 2 and len(err.strip().splitlines()) == 1 and words in err and "Traceback" not in err and out == ""


@pytest.mark.parametrize("text", ["", "[]", json.dumps({"format": "lopa-bench", "version": 1})])
def test_what_is_no_report_is_not_gone_on_with(capsys, tmp_path, text):
    (tmp_path / "sweep.json").write_text(text)
    code, _, err = call(capsys, "sweep", "--out", tmp_path / "sweep.json", "--resume")
    assert code == 2 and err.startswith("lopa_core: sweep.json") and (tmp_path / "sweep.json").read_text() == text
